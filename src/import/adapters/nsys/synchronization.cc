// SPDX-License-Identifier: Apache-2.0
// Waits as the driver records them. Facts observed:
// - deviceId is 0 whatever the device (2026.2); the context tells the right one.
// - syncType counts from 0 in exports without a column deprecatedSyncType (2024.6 writes 2
//   for cudaStreamSynchronize, its own ENUM_CUPTI_SYNC_TYPE notwithstanding) and from 1,
//   as CUPTI does, in those with it. The API call that goes with the row is asked first.
// - 4294967295 in streamId and eventId is none.

#include "import/adapters/nsys/export_file.h"

namespace nl::adapters::nsys {

namespace {

// What an event stands for: the record that a wait refers to.
struct Record {
  int64_t stream, correlation;
};
using Records = std::map<std::pair<int64_t, int64_t>, Record>;  // process, eventSyncId

Status ReadRecords(ExportFile& e, Records& to) {
  static constexpr const char* kRecordColumns[] = {"globalPid", "eventSyncId", "streamId", "correlationId"};
  static constexpr const char* kToldElsewhere[] = {"deviceId", "contextId", "eventId", "timestamp",
                                                   "greenContextId"};
  e.Expect("CUPTI_ACTIVITY_KIND_CUDA_EVENT", kToldElsewhere);
  return e.ForFew("CUPTI_ACTIVITY_KIND_CUDA_EVENT", kRecordColumns, [&](const SqliteRows& rows) {
    const int64_t sync_id = rows.Int(1);
    if (!IsNull(sync_id) && sync_id != 0) to[{rows.Int(0), sync_id}] = {IdOf(rows.Int(2)), rows.Int(3)};
  });
}

}  // namespace

Status ReadSynchronization(ExportFile& e) {
  static constexpr const char* kColumns[] = {"start",    "end",           "deviceId",  "contextId",
                                             "streamId", "correlationId", "globalPid", "syncType",
                                             "eventId",  "eventSyncId"};
  enum Column { kStart, kEnd, kDevice, kContext, kStream, kCorrelation, kPid, kType, kEvent, kEventSync };
  const SqliteReader::Table* table = e.reader.Find("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION");
  if (table == nullptr) return {};
  Records records;
  NL_TRY(ReadRecords(e, records));
  static constexpr const char* kToldElsewhere[] = {"deprecatedSyncType", "greenContextId"};
  e.Expect("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", kToldElsewhere);
  const int64_t first_type = table->Has("deprecatedSyncType") ? 1 : 0;
  SyncColumns& syncs = e.writer.batch.sync;
  return e.ForEach("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", kColumns, 2, [&](const SqliteRows& rows) -> Status {
    const RowId row = e.writer.NextRow(Table::kSync, syncs);
    ExportFile::Time time;
    if (!e.TimeOf(rows, kStart, kEnd, Table::kSync, row, time)) return {};
    const int64_t process = rows.Int(kPid);
    SyncRow r;
    r.start_ns = time.start_ns;
    r.dur_ns = time.dur_ns;
    r.context = rows.Int(kContext);
    r.stream = IdOf(rows.Int(kStream));
    r.correlation = rows.Int(kCorrelation) == 0 ? NullOf<int64_t>::value : rows.Int(kCorrelation);
    int32_t device = rows.Int32(kDevice);
    const int32_t of_context = e.lanes.DeviceOfContext(process, r.context);
    if (!IsNull(of_context) && of_context != device) {
      device = of_context;
      e.file.counters.Add(kDeviceOfContext);
    }
    const StreamLane place = e.lanes.Stream(process, device, r.context, r.stream);
    r.thread_id = place.lane;
    r.device = place.device;
    const LaunchIndex::Launch launch = e.launches.Find(process, r.correlation);
    const int64_t type = rows.Int(kType);
    WaitKind kind = launch.wait;
    if (kind == WaitKind::kNone && type >= first_type && type - first_type < 4)
      kind = static_cast<WaitKind>(type - first_type + 1);
    if (NameOf(kind) != nullptr)
      r.name = e.writer.strings().Add(NameOf(kind));
    else if (!IsNull(type))
      e.writer.KeepArg(Table::kSync, row, "syncType", type);
    r.wait_on_event = IdOf(rows.Int(kEvent));
    if (const auto record = records.find({process, rows.Int(kEventSync)}); record != records.end()) {
      r.wait_on_stream = record->second.stream;
      r.wait_on_correlation = record->second.correlation;
    }
    syncs.api_call_id.push_back(launch.api_call);
    syncs.op_id.push_back(launch.op);
    syncs.Add(r);
    return {};
  });
}

}  // namespace nl::adapters::nsys
