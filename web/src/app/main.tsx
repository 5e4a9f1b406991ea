// SPDX-License-Identifier: Apache-2.0
// The application that `neurolens serve` serves at /.
import "../widgets/palette.css";
import "../widgets/page.css";
import "./app.css";

import { render } from "preact";
import { startTheme } from "../widgets/theme";
import { startKeys } from "./keys";
import { followLinks } from "./navigation";
import { startSession } from "./session";
import { App } from "./shell";

startTheme();
startKeys();
followLinks();
startSession();
const app = document.getElementById("app");
if (app) {
  app.textContent = "";
  render(<App />, app);
}
