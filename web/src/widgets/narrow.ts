// SPDX-License-Identifier: Apache-2.0
// Whether the page is as narrow as a phone. The style sheets have the same limit.
import { useEffect, useState } from "preact/hooks";

const NARROW = "(max-width: 600px)";

export function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => matchMedia(NARROW).matches);
  useEffect(() => {
    const query = matchMedia(NARROW);
    const update = () => setNarrow(query.matches);
    query.addEventListener("change", update);
    return () => query.removeEventListener("change", update);
  }, []);
  return isNarrow;
}
