// The agent's own values as messages of its API. No I/O, no state; any thread.
#pragma once

#include "agent/sandbox/sandbox_manager.h"
#include "agent/service/host_facts.h"
#include "sandkeep/agent/v1/agent.pb.h"

namespace sandkeep {

void Fill(agent::v1::Sandbox* message, const SandboxSnapshot& sandbox);
void Fill(agent::v1::Job* message, const JobSnapshot& job);
void Fill(agent::v1::Outcome* message, const Outcome& outcome);
void Fill(agent::v1::JobStarted* message, const StartedJob& started);
void Fill(agent::v1::JobGap* message, const JobGap& gap);
// Not for kEndOfWhatThereIs, which is the end of a stream and no event.
void Fill(agent::v1::JobEvent* message, JobEvent event);
void Fill(agent::v1::FileInfo* message, const FileEntry& entry);
void Fill(agent::v1::FileInfo* message, const SandboxFile& file);
void Fill(agent::v1::CollectGarbageResponse::Decision* message, const GarbageDecision& decision);
void Fill(agent::v1::Info* message, const HostFacts& facts, const ManagerInfo& info);

}  // namespace sandkeep
