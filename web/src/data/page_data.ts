// SPDX-License-Identifier: Apache-2.0
// The data that the program wrote into the page, in <script id="report-data">.

export type PageData<Document> = { state: "loaded"; document: Document } | { state: "empty" } | { state: "damaged" };

// The page as built holds a string in place of the document.
export function parsePageData<Document>(text: string): PageData<Document> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return { state: "loaded", document: value as Document };
    return { state: "empty" };
  } catch {
    return { state: "damaged" };
  }
}
