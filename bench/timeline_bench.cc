// SPDX-License-Identifier: Apache-2.0
// timeline_bench RUN_FOLDER [TILES]: how fast the overview of a run is made, how large it is, and how long
// tiles of random windows at every zoom take. RUN_FOLDER is a folder of runs/ in a store.

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "serve/http/content.h"
#include "timeline/tile.h"

namespace {

double SecondsSince(std::chrono::steady_clock::time_point from) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
}

double CpuSeconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double MostMemoryMb() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_maxrss) / 1e3;
}

double Quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<size_t>(q * static_cast<double>(values.size())))];
}

template <class T>
T Must(nl::Result<T> result) {
  if (!result.ok()) {
    fmt::print(stderr, "timeline_bench: {}\n", result.error().ToString());
    std::exit(1);
  }
  return *std::move(result);
}

void Print(const char* what, double value, const char* unit, const char* mark) {
  fmt::print("{:<44} {:>12.3f} {:<12} {}\n", what, value, unit, mark);
}

void MeasureBuild(const std::string& folder) {
  const auto spans = Must(nl::RunSpans::Open(folder, folder, nullptr));
  nl::OverviewOptions options;
  const auto from = std::chrono::steady_clock::now();
  const double cpu = CpuSeconds();
  const auto overview = Must(nl::BuildOverview(*spans, options));
  const double wall_s = SecondsSince(from), cpu_s = CpuSeconds() - cpu;
  const auto events = static_cast<double>(overview->events);
  Print("spans", events / 1e6, "M", "");
  Print("build, as measured", events / wall_s / 1e6, "M spans/s", "mark 20 on 2 free cores");
  Print("build, processor time", cpu_s, "s", "");
  Print("build, if 2 cores were free", 2 * events / cpu_s / 1e6, "M spans/s", "mark 20");
  const std::string path = "/tmp/timeline_bench.parquet";
  Must(nl::WriteOverview(*overview, *spans, path));
  const auto file = Must(nl::ParquetReader::Open(path));
  Print("overview", static_cast<double>(file->size_bytes()) / 1e6, "MB", "");
  Print("share of the run's tables",
        100 * static_cast<double>(file->size_bytes()) / static_cast<double>(spans->stored_bytes()), "%",
        "mark 3");
  size_t buckets = 0, listed = 0, lowest = 0;
  for (const nl::OverviewRow& row : overview->rows) {
    for (unsigned level = overview->base_level; level <= overview->top_level; ++level) {
      buckets += row.buckets.Buckets(level).size();
      listed += row.buckets.Spans(level).size();
    }
    lowest += row.buckets.Buckets(overview->base_level).size();
  }
  Print("buckets", static_cast<double>(buckets) / 1e3, "k", "");
  Print("buckets of the lowest level", static_cast<double>(lowest) / 1e3, "k", "");
  Print("spans that are listed", static_cast<double>(listed) / 1e3, "k", "");
  for (const char* column : {"kind", "lane", "depth", "level", "at", "dur_ns", "count", "longest_ns", "name",
                             "owner", "owner_id", "id"}) {
    int64_t bytes = 0;
    for (size_t g = 0; g < file->groups(); ++g) bytes += file->chunk(g, file->Column(column)).stored_bytes;
    Print(fmt::format("column {}", column).c_str(), static_cast<double>(bytes) / 1e3, "kB", "");
  }
  const auto load = std::chrono::steady_clock::now();
  Must(nl::ReadOverview(path, *spans));
  Print("overview, read again", SecondsSince(load) * 1e3, "ms", "");
  Print("lowest bucket", static_cast<double>(nl::BucketNs(overview->base_level)) / 1e3, "us", "");
  Print("memory at most", MostMemoryMb(), "MB", "");
  std::remove(path.c_str());
}

void MeasureTiles(const nl::Timeline& timeline, int tiles) {
  std::mt19937_64 random(1);
  nl::TileRequest request;
  for (size_t i = 0; i < timeline.lanes().size(); ++i) request.lanes.push_back(static_cast<int64_t>(i));
  const auto wall_ns = static_cast<double>(timeline.overview().last_ns);
  std::vector<double> all_ms, close_ms, all_cpu_ms, close_cpu_ms, bytes, packed;
  for (int i = 0; i < tiles; ++i) {
    const double zoom = std::uniform_real_distribution<double>(std::log2(1e4), std::log2(wall_ns))(random);
    const auto length_ns = static_cast<int64_t>(std::exp2(zoom));
    request.from_ns =
        static_cast<int64_t>(random() % static_cast<uint64_t>(wall_ns - static_cast<double>(length_ns) + 1));
    request.to_ns = request.from_ns + length_ns;
    request.width = 1600;
    const auto from = std::chrono::steady_clock::now();
    const double cpu = CpuSeconds();
    const nl::Tile tile = Must(nl::MakeTile(timeline, request, nullptr));
    const std::string out = nl::TileBytes(tile);
    const double ms = SecondsSince(from) * 1e3, cpu_ms = (CpuSeconds() - cpu) * 1e3;
    all_ms.push_back(ms);
    all_cpu_ms.push_back(cpu_ms);
    if (tile.bucket_ns < nl::BucketNs(timeline.overview().base_level)) {
      close_ms.push_back(ms);
      close_cpu_ms.push_back(cpu_ms);
    }
    bytes.push_back(static_cast<double>(out.size()) / 1e3);
    packed.push_back(static_cast<double>(nl::http::Gzipped(out).size()) / 1e3);
  }
  Print("tile, median", Quantile(all_ms, 0.5), "ms", "");
  Print("tile, 99 of 100", Quantile(all_ms, 0.99), "ms", "mark 30");
  Print("tile, most", Quantile(all_ms, 1), "ms", "");
  Print("tile, processor time, median", Quantile(all_cpu_ms, 0.5), "ms", "");
  Print("tile, processor time, 99 of 100", Quantile(all_cpu_ms, 0.99), "ms", "");
  if (!close_ms.empty()) {
    Print("tiles from the spans, share", 100.0 * static_cast<double>(close_ms.size()) / tiles, "%", "");
    Print("tile from the spans, median", Quantile(close_ms, 0.5), "ms", "");
    Print("tile from the spans, 99 of 100", Quantile(close_ms, 0.99), "ms", "mark 30");
    Print("the same, processor time, median", Quantile(close_cpu_ms, 0.5), "ms", "");
    Print("the same, processor time, 99 of 100", Quantile(close_cpu_ms, 0.99), "ms", "");
  }
  Print("tile size, median", Quantile(bytes, 0.5), "kB", "");
  Print("tile size, most", Quantile(bytes, 1), "kB", "mark 200");
  Print("tile size with gzip, most", Quantile(packed, 1), "kB", "mark 200");
  Print("memory at most", MostMemoryMb(), "MB", "");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: timeline_bench RUN_FOLDER [TILES]\n");
    return 2;
  }
  MeasureBuild(argv[1]);
  nl::OverviewOptions options;
  const auto timeline = Must(nl::Timeline::OpenFolder(argv[1], options));
  MeasureTiles(*timeline, argc > 2 ? std::atoi(argv[2]) : 1000);
  return 0;
}
