// SPDX-License-Identifier: Apache-2.0
// The upload of a profile. XMLHttpRequest, because fetch does not report how much of a body was sent.
import type { UploadParams } from "./api";
import { ProblemError, problemOf, queryString, UNREACHABLE } from "./client";
import type { ImportReply } from "./generated";

export function uploadProfile(
  file: File,
  params: UploadParams,
  onSent: (done_bytes: number, total_bytes: number) => void,
  signal?: AbortSignal,
): Promise<ImportReply> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `/api/v1/runs${queryString({ name: file.name, ...params })}`);
    request.upload.onprogress = (e) => onSent(e.loaded, e.total || file.size);
    request.onload = () => {
      const { status, statusText, responseText } = request;
      if (status < 400) resolve(JSON.parse(responseText) as ImportReply);
      else reject(new ProblemError(problemOf(status, statusText, responseText)));
    };
    request.onerror = () => reject(new ProblemError(UNREACHABLE));
    request.onabort = () => reject(new DOMException("aborted", "AbortError"));
    signal?.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}
