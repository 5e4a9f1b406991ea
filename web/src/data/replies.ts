// SPDX-License-Identifier: Apache-2.0
// The shape of everything the program writes for a page. Only types: the build drops this file.
// A member with `| null` is always written and may be unknown; a member with `?` may be absent.
export type * from "./compare_reply";
export type * from "./generated";
export type * from "./report_document";
export type * from "./report_time";
export type * from "./run_document";
