// SPDX-License-Identifier: Apache-2.0
// The last run of the same workload before this one, for "what changed since then".

import { queryString } from "../../data/client";
import type { ListedRun, LsReply } from "../../data/generated";
import { compareAddress } from "../route";
import { workloadOf } from "../runs/run_list";
import { client, useLoad } from "../session";

const LOOKED_AT = 200; // newest runs with this in the name of the model

export function earlierRun(runs: ListedRun[], run: string): ListedRun | null {
  const self = runs.find((r) => r.run_id === run);
  const workload = self && workloadOf(self);
  if (!self || !workload) return null;
  const earlier = runs.filter((r) => workloadOf(r) === workload && r.created_at_ns < self.created_at_ns);
  return earlier.reduce<ListedRun | null>((a, b) => (a && a.created_at_ns >= b.created_at_ns ? a : b), null);
}

export function SinceEarlier({ run }: { run: string }) {
  const [now] = useLoad(`earlier ${run}`, async (signal) => {
    const show = await client.call("show", { run }, signal);
    if (!show.run.model) return null;
    const fields = { model: show.run.model, limit: LOOKED_AT, sort: "created" };
    const { runs } = await client.json<LsReply>(`/api/v1/runs${queryString(fields)}`, { signal });
    return earlierRun(runs, show.run.run_id);
  });
  if (now.state !== "loaded" || !now.reply) return null;
  return <a href={compareAddress([now.reply.run_id], [run])}>What changed since {now.reply.short_id}</a>;
}
