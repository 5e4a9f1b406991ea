// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { csvOf } from "./csv";

test("cells are quoted where they must be, and formulas are text", () => {
  expect(
    csvOf(
      ["a", 'b"c'],
      [
        [1, null],
        ["x,y", "line\nbreak"],
        ["=1+1", "-5"],
        [true, "@x"],
      ],
    ),
  ).toBe('a,"b""c"\r\n1,\r\n"x,y","line\nbreak"\r\n\'=1+1,-5\r\ntrue,\'@x\r\n');
});
