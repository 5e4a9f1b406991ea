// SPDX-License-Identifier: Apache-2.0
#pragma once
// ByteSource: the bytes of an input, decompressed on the way (gzip with any number of
// members, zstd with any number of frames, or plain), from a file or standard input.
// The compression is detected from the first bytes, never from the name. Hash and size are
// those of the bytes as stored.
// Thread rule: one thread reads; bytes_read() may be polled from others.

#include <atomic>
#include <memory>
#include <string>

#include "base/input_stream.h"
#include "base/result.h"

namespace nl {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills as much of the buffer as it can; less than `size` only at the end.
  // A broken or truncated stream is InvalidInput with the offset in the stored file.
  virtual Result<size_t> Read(char* to, size_t size) = 0;

  // Stored bytes taken so far, and in all (-1 for a pipe).
  virtual int64_t bytes_read() const = 0;
  virtual int64_t bytes_total() const = 0;
  // Sha256Tree of the stored bytes, after the end was read.
  virtual std::string HashHex() = 0;
  virtual const std::string& name() const = 0;  // file name without folders, or "stdin"
  // Does Read give the bytes of a file on disk as they are stored?
  virtual bool is_plain_file() const = 0;
  // The compressed stream ended too early, and what it had until there was given (`keep_cut`).
  virtual bool was_cut() const { return false; }
};

// A folder that `neurolens record` made: files ending in .nlc, which read one after the
// other are one capture.
bool IsCaptureFolder(const std::string& path);

// Bytes stored under a path, of all files of a capture folder together; -1: unknown until they are read.
int64_t StoredBytes(const std::string& path);
// The hash that a source gives of them, or their plain SHA-256.
enum class HashKind { kTree, kPlain };
Result<std::string> StoredHash(const std::string& path, HashKind kind);

// `path` "-" reads `input`; a capture folder gives the bytes of its files in the order
// of their names. A read that waits for a pipe ends with Cancelled once
// `cancelled` (may be null) is set. With `keep_cut` a compressed stream that is cut off ends there instead of
// being an error.
Result<std::unique_ptr<ByteSource>> OpenByteSource(const std::string& path,
                                                   const std::atomic<bool>* cancelled = nullptr,
                                                   bool keep_cut = false, const InputStream& input = {});

}  // namespace nl
