// SPDX-License-Identifier: Apache-2.0
// The binary form of a tile, as docs/formats/tile.md defines it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "ledger/parquet_format.h"
#include "timeline/tile.h"

namespace nl {

namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are");

class TileWriter {
 public:
  explicit TileWriter(const Tile& tile) : tile_(tile) {}

  std::string Write() {
    Header();
    Each([this](const TileRow& r) { Varint(r.lane); });
    Each([this](const TileRow& r) { Varint(r.depth); });
    Each([this](const TileRow& r) { Varint(static_cast<int64_t>(r.start_ns.size())); });
    Each([this](const TileRow& r) { Varint(static_cast<int64_t>(r.bucket.size())); });
    Each([this](const TileRow& r) { Starts(r); });
    Each([this](const TileRow& r) { Varints(r.dur_ns); });
    Each([this](const TileRow& r) { Varints(r.name); });
    Each([this](const TileRow& r) { Differences(r.id, 0, 0); });
    const int64_t first = tile_.from_ns >> std::countr_zero(static_cast<uint64_t>(tile_.bucket_ns));
    Each([this, first](const TileRow& r) { Differences(r.bucket, first - 1, 1); });
    Each([this](const TileRow& r) { Varints(r.count); });
    Each([this](const TileRow& r) {
      for (const int64_t busy_ns : r.busy_ns) out_.push_back(static_cast<char>(BusyByte(busy_ns)));
    });
    Each([this](const TileRow& r) { Varints(r.top); });
    Each([this](const TileRow& r) {
      for (const int64_t longest_ns : r.longest_ns)
        out_.push_back(static_cast<char>(LongestByte(longest_ns)));
    });
    Series();
    Names();
    const auto bytes = static_cast<uint32_t>(out_.size());
    std::memcpy(out_.data() + kBytesAt, &bytes, 4);
    return std::move(out_);
  }

 private:
  static constexpr size_t kBytesAt = 28;
  static constexpr double kBusySteps = 63;

  template <class Write>
  void Each(const Write& write) {
    for (const TileRow& row : tile_.rows) write(row);
  }
  template <class T>
  void Fixed(T value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  void Varint(int64_t value) { parquet::PutVarint(out_, static_cast<uint64_t>(value)); }
  void Varints(const std::vector<int64_t>& values) {
    for (const int64_t value : values) Varint(value);
  }
  // Each as its distance to the end of the one before it: spans of a row follow each other closely.
  void Starts(const TileRow& row) {
    int64_t before_ns = tile_.from_ns;
    for (size_t i = 0; i < row.start_ns.size(); ++i) {
      parquet::PutVarint(out_, parquet::ZigZag(row.start_ns[i] - before_ns));
      before_ns = row.start_ns[i] + row.dur_ns[i];
    }
  }
  // Each as its difference to the one before it plus `step`.
  void Differences(const std::vector<int64_t>& values, int64_t before, int64_t step) {
    for (const int64_t value : values) {
      parquet::PutVarint(out_, parquet::ZigZag(value - before - step));
      before = value;
    }
  }

  void Header() {
    size_t spans = 0, buckets = 0, points = 0;
    for (const TileRow& row : tile_.rows) {
      spans += row.start_ns.size();
      buckets += row.bucket.size();
    }
    for (const TileSeries& series : tile_.series) points += series.at_ns.size();
    out_ = "NLT2";
    for (const size_t count :
         {tile_.rows.size(), spans, buckets, tile_.names.size(), tile_.series.size(), points, size_t{0}})
      Fixed(static_cast<uint32_t>(count));
    for (const int64_t value : {tile_.from_ns, tile_.to_ns, tile_.bucket_ns, tile_.exact_from_ns})
      Fixed(value);
  }

  // More steps than a row has pixels would be a tenth of the packed tile that nobody sees.
  uint8_t BusyByte(int64_t busy_ns) const {
    const double share = static_cast<double>(busy_ns) / static_cast<double>(tile_.bucket_ns);
    return static_cast<uint8_t>(std::min(kBusySteps, std::ceil(kBusySteps * share)));
  }
  static uint8_t LongestByte(int64_t longest_ns) {
    if (longest_ns <= 0) return 0;
    return static_cast<uint8_t>(1 + static_cast<int>(4.0 * std::log2(static_cast<double>(longest_ns))));
  }

  void Series() {
    for (const TileSeries& series : tile_.series) Varint(series.lane);
    for (const TileSeries& series : tile_.series)
      Varint(2 * static_cast<int64_t>(series.at_ns.size()) + (IsSingle(series) ? 1 : 0));
    for (const TileSeries& series : tile_.series) Differences(series.at_ns, tile_.from_ns, 0);
    for (const auto& column : {&TileSeries::last, &TileSeries::min, &TileSeries::max}) {
      for (const TileSeries& series : tile_.series) {
        if (column != &TileSeries::last && IsSingle(series)) continue;
        for (const double value : series.*column) Fixed(static_cast<float>(value));
      }
    }
  }
  // Each point is one value: least and greatest say nothing more.
  static bool IsSingle(const TileSeries& series) {
    return series.min == series.last && series.max == series.last;
  }

  void Names() {
    for (const std::string& table : tile_.name_tables) {
      const auto it = std::find(kSpanTableNames.begin(), kSpanTableNames.end(), table);
      out_.push_back(static_cast<char>(it - kSpanTableNames.begin()));
    }
    for (const std::string& name : tile_.names) Varint(static_cast<int64_t>(name.size()));
    for (const std::string& name : tile_.names) out_ += name;
  }

  const Tile& tile_;
  std::string out_;
};

}  // namespace

std::string TileBytes(const Tile& tile) { return TileWriter(tile).Write(); }

}  // namespace nl
