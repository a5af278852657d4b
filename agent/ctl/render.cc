#include "agent/ctl/render.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "common/strings.h"
#include "common/utf8.h"

namespace sandkeep {
namespace {

namespace v1 = agent::v1;

using Row = std::vector<std::string>;

// A terminal obeys control characters; a name has none.
std::string Plain(std::string_view text) {
  std::string plain = ToValidUtf8(text);
  std::replace_if(
      plain.begin(), plain.end(),
      [](char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)); }, '?');
  return plain;
}

std::string Table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      StrAppend(&line, row[i], std::string(widths[i] - row[i].size() + 2, ' '));
    }
    line.erase(line.find_last_not_of(' ') + 1);
    StrAppend(&text, line, "\n");
  }
  return text;
}

std::string Lowered(std::string name) {
  absl::AsciiStrToLower(&name);
  return name;
}

std::string Size(std::int64_t bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return absl::StrFormat("%.*f %s", unit == 0 ? 0 : 1, value, kUnits[unit]);
}

std::string Span(std::int64_t ms, std::string_view when_zero) {
  return ms == 0 ? std::string(when_zero) : absl::FormatDuration(absl::Milliseconds(ms));
}

std::string Ago(std::int64_t ms, absl::Time now) {
  if (ms == 0) return "never";
  const absl::Duration ago = std::max(now - absl::FromUnixMillis(ms), absl::ZeroDuration());
  if (ago < absl::Minutes(1)) return "just now";
  const absl::Duration unit = ago < absl::Hours(48) ? absl::Minutes(1) : absl::Hours(1);
  return absl::FormatDuration(absl::Trunc(ago, unit)) + " ago";
}

void AppendLimits(std::vector<Row>* rows, const v1::Limits& limits) {
  rows->push_back({"timeout at most", Span(limits.max_timeout_ms(), "none")});
  rows->push_back({"frozen when idle", Span(limits.idle_ms(), "never")});
  rows->push_back({"stopped when frozen", Span(limits.stop_after_ms(), "never")});
  rows->push_back({"removed when stopped", Span(limits.keep_ms(), "never")});
  rows->push_back({"memory each", Size(limits.memory_bytes())});
  rows->push_back({"processors each", absl::StrFormat("%.1f", limits.cpus_milli() / 1000.0)});
  rows->push_back({"processes each", StrCat(limits.pids())});
}

void AppendCapacity(std::vector<Row>* rows, const v1::Capacity& capacity) {
  rows->push_back(
      {"running",
       StrCat(capacity.sandboxes_running(), " of ", capacity.sandboxes_max(), ", ",
              capacity.sandboxes_frozen(), " frozen, ", capacity.sandboxes_stopped(), " stopped, ",
              capacity.sandboxes_warm(), " warm, ", capacity.sandboxes_known(), " known")});
  rows->push_back({"disk free", StrCat(Size(capacity.disk_free_bytes()), ", floor ",
                                       Size(capacity.disk_floor_bytes()))});
  rows->push_back({"memory available", Size(capacity.memory_available_bytes())});
}

}  // namespace

std::string RenderInfo(const v1::Info& info) {
  std::vector<Row> rows = {{"version", Plain(info.version())},
                           {"profile", Plain(info.profile())},
                           {"network", Plain(info.network())},
                           {"engine", Plain(info.engine())}};
  AppendCapacity(&rows, info.capacity());
  AppendLimits(&rows, info.limits());
  for (const v1::Capability& capability : info.capabilities()) {
    rows.push_back({Plain(capability.name()), StrCat(capability.available() ? "yes" : "no", ": ",
                                                     Plain(capability.detail()))});
  }
  for (const std::string& warning : info.warnings()) rows.push_back({"warning", Plain(warning)});
  for (const std::string& problem : info.problems()) rows.push_back({"problem", Plain(problem)});
  return Table(rows);
}

std::string RenderSandboxes(const v1::ListSandboxesResponse& response, absl::Time now) {
  if (response.sandboxes().empty()) return "no sandboxes\n";
  std::vector<Row> rows = {{"LABEL", "STATE", "JOBS", "LAST USED", "PRINCIPAL", "KEY"}};
  for (const v1::Sandbox& sandbox : response.sandboxes()) {
    rows.push_back({Plain(sandbox.label()), Lowered(v1::Sandbox::State_Name(sandbox.state())),
                    StrCat(sandbox.running_jobs()), Ago(sandbox.last_used_ms(), now),
                    Plain(sandbox.principal()), Plain(sandbox.key())});
  }
  std::string text = Table(rows);
  const int hidden = response.total() - response.sandboxes_size();
  if (hidden > 0) StrAppend(&text, "and ", hidden, " more\n");
  return text;
}

std::string RenderRemoved(const v1::RemoveSandboxResponse& response) {
  if (response.volume_removed()) return "removed, with its files\n";
  return response.container_removed() ? "removed; its files are kept\n" : "nothing to remove\n";
}

std::string RenderState(const v1::Sandbox& sandbox) {
  return StrCat(Plain(sandbox.label()), " is ", Lowered(v1::Sandbox::State_Name(sandbox.state())),
                "\n");
}

std::string RenderGarbage(const v1::CollectGarbageResponse& response) {
  if (response.decisions().empty()) return "no garbage\n";
  std::vector<Row> rows = {{"KIND", "NAME", "DECISION", "SIZE", "WHY"}};
  for (const auto& decision : response.decisions()) {
    const char* const remove = response.dry_run() ? "would remove" : "removed";
    rows.push_back({Lowered(v1::CollectGarbageResponse::Decision::Kind_Name(decision.kind())),
                    Plain(decision.name()), decision.remove() ? remove : "keep",
                    Size(decision.bytes()), Plain(decision.reason())});
  }
  return Table(rows);
}

}  // namespace sandkeep
