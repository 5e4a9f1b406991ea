// SPDX-License-Identifier: Apache-2.0
// Vite puts imported styles into the page.
declare module "*.css";
