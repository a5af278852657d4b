#include "agent/sandbox/packages.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "common/limits.h"
#include "common/run_on.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

// In the layer, the container's own file system begins here.
constexpr std::string_view kRoot = "diff/";

bool IsPackageName(std::string_view name) {
  const auto allowed = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-' ||
           c == '+' || c == '~' || c == '!' || c == ':';
  };
  return !name.empty() && name.size() <= kMaxPackageNameBytes &&
         absl::ascii_isalnum(static_cast<unsigned char>(name.front())) &&
         std::all_of(name.begin(), name.end(), allowed);
}

std::string_view NameOf(const FileEntry& entry) {
  const std::string_view path = entry.path;
  return path.substr(path.rfind('/') + 1);
}

// `name` without `ending`; empty if it doesn't end so.
std::string_view Stem(std::string_view name, std::string_view ending) {
  if (name.size() <= ending.size()) return {};
  const std::size_t stem = name.size() - ending.size();
  return name.substr(stem) == ending ? name.substr(0, stem) : std::string_view();
}

// One container's, and how many looks at it are left.
struct Layer {
  FileProcess& files;
  EngineName container;
  int looks = kMaxPackageLooks;
};

Async<std::vector<FileEntry>> ListBelow(Layer& layer, std::string path) {
  const int most = std::min(layer.looks, kMaxPackageEntries);
  if (most <= 0) co_return std::vector<FileEntry>();
  CO_ASSIGN_OR_RETURN(RelPath folder, RelPath::Parse(StrCat(kRoot, path)));
  auto listed = co_await layer.files.List(layer.container, std::move(folder), most);
  // One that is empty costs a look, too.
  --layer.looks;
  if (listed.ok()) layer.looks -= static_cast<int>(listed->size());
  // Nothing was written there.
  if (absl::IsNotFound(listed.status())) co_return std::vector<FileEntry>();
  co_return listed;
}

std::string ReadUpTo(const UniqueFd& file, std::size_t limit) {
  std::string text(limit, '\0');
  std::size_t got = 0;
  while (got < limit) {
    const ssize_t more =
        ::pread(file.get(), text.data() + got, limit - got, static_cast<off_t>(got));
    if (more <= 0) break;
    got += static_cast<std::size_t>(more);
  }
  text.resize(got);
  return text;
}

using NameSet = absl::flat_hash_set<std::string>;

Async<NameSet> ReadAutoInstalled(Layer& layer, boost::asio::any_io_executor disk) {
  CO_ASSIGN_OR_RETURN(RelPath path, RelPath::Parse(StrCat(kRoot, "var/lib/apt/extended_states")));
  absl::StatusOr<OpenedFile> opened = co_await layer.files.Open(layer.container, std::move(path));
  if (absl::IsNotFound(opened.status())) co_return NameSet();
  if (!opened.ok()) co_return opened.status();
  auto read =
      [file = std::make_shared<UniqueFd>(std::move(opened->file))]() -> absl::StatusOr<NameSet> {
    return AutoInstalled(ReadUpTo(*file, kMaxAptStatesBytes));
  };
  co_return co_await RunOn(disk, std::move(read));
}

// dpkg has a list of files for each package, `NAME.list` or `NAME:ARCHITECTURE.list`; those of the
// image lie in its layers.
Async<std::vector<std::string>> FindApt(Layer& layer, boost::asio::any_io_executor disk) {
  CO_ASSIGN_OR_RETURN(const std::vector<FileEntry> lists,
                      co_await ListBelow(layer, "var/lib/dpkg/info"));
  std::vector<std::string> names;
  if (lists.empty()) co_return names;
  CO_ASSIGN_OR_RETURN(const NameSet came_along, co_await ReadAutoInstalled(layer, std::move(disk)));
  for (const FileEntry& entry : lists) {
    if (!entry.regular()) continue;  // A deleted one of the image's leaves a mark.
    std::string_view name = Stem(NameOf(entry), ".list");
    name = name.substr(0, name.find(':'));
    if (IsPackageName(name) && !came_along.contains(std::string(name))) names.emplace_back(name);
  }
  co_return names;
}

// pip leaves a mark in what it was asked for by name.
Async<std::vector<std::string>> FindPipIn(Layer& layer, std::string folder) {
  CO_ASSIGN_OR_RETURN(const std::vector<FileEntry> entries, co_await ListBelow(layer, folder));
  std::vector<std::string> names;
  for (const FileEntry& entry : entries) {
    const std::string_view stem = Stem(NameOf(entry), ".dist-info");
    const std::size_t dash = stem.rfind('-');
    if (!entry.directory() || dash == std::string_view::npos) continue;
    const std::string_view name = stem.substr(0, dash);
    const std::string_view version = stem.substr(dash + 1);
    if (!IsPackageName(name) || !IsPackageName(version) || --layer.looks < 0) continue;
    CO_ASSIGN_OR_RETURN(RelPath mark,
                        RelPath::Parse(StrCat(kRoot, folder, "/", stem, ".dist-info/REQUESTED")));
    const auto found = co_await layer.files.Stat(layer.container, std::move(mark));
    if (found.ok()) names.push_back(StrCat(name, "==", version));
  }
  co_return names;
}

Async<std::vector<std::string>> FindPip(Layer& layer) {
  CO_ASSIGN_OR_RETURN(const std::vector<FileEntry> versions,
                      co_await ListBelow(layer, "usr/local/lib"));
  std::vector<std::string> names;
  for (const FileEntry& version : versions) {
    if (!version.directory() || NameOf(version).substr(0, 6) != "python") continue;
    for (const std::string_view packages : {"dist-packages", "site-packages"}) {
      std::string folder = StrCat("usr/local/lib/", NameOf(version), "/", packages);
      CO_ASSIGN_OR_RETURN(const std::vector<std::string> found,
                          co_await FindPipIn(layer, std::move(folder)));
      names.insert(names.end(), found.begin(), found.end());
    }
  }
  co_return names;
}

Async<std::vector<std::string>> FindNpm(Layer& layer) {
  constexpr std::string_view kFolder = "usr/local/lib/node_modules";
  CO_ASSIGN_OR_RETURN(const std::vector<FileEntry> entries,
                      co_await ListBelow(layer, std::string(kFolder)));
  std::vector<std::string> names;
  for (const FileEntry& entry : entries) {
    const std::string_view name = NameOf(entry);
    // npm keeps itself there.
    if (!entry.directory() || name == "npm" || name == "corepack") continue;
    if (IsPackageName(name)) names.emplace_back(name);
    if (name.front() != '@' || !IsPackageName(name.substr(1))) continue;
    CO_ASSIGN_OR_RETURN(const std::vector<FileEntry> scoped,
                        co_await ListBelow(layer, StrCat(kFolder, "/", name)));
    for (const FileEntry& one : scoped) {
      if (one.directory() && IsPackageName(NameOf(one))) {
        names.push_back(StrCat(name, "/", NameOf(one)));
      }
    }
  }
  co_return names;
}

// Adds `start` and as many of the names as there is room for.
void AddPart(std::string* command, std::string_view start, const std::vector<std::string>& names) {
  if (names.empty()) return;
  std::string part(start);
  bool any = false;
  for (const std::string& name : names) {
    if (command->size() + part.size() + name.size() > kMaxReinstallBytes) break;
    StrAppend(&part, " ", name);
    any = true;
  }
  if (any) StrAppend(command, command->empty() ? "" : " && ", part);
}

}  // namespace

absl::flat_hash_set<std::string> AutoInstalled(std::string_view states) {
  constexpr std::string_view kPackage = "Package: ";
  NameSet names;
  std::string_view package;
  for (const std::string_view line : Split(states, '\n')) {
    if (line.substr(0, kPackage.size()) == kPackage) package = line.substr(kPackage.size());
    if (line != "Auto-Installed: 1") continue;
    // A name counts once, however often it is said of it.
    const std::string_view name = std::exchange(package, {});
    if (IsPackageName(name)) names.emplace(name);
  }
  return names;
}

Async<InstalledPackages> FindInstalled(FileProcess& files, boost::asio::any_io_executor disk,
                                       EngineName container) {
  RelPath root = *RelPath::Parse("diff");
  CO_RETURN_IF_ERROR((co_await files.Stat(container, std::move(root))).status());
  Layer layer{.files = files, .container = std::move(container)};
  InstalledPackages found;
  CO_ASSIGN_OR_RETURN(found.apt, co_await FindApt(layer, std::move(disk)));
  CO_ASSIGN_OR_RETURN(found.pip, co_await FindPip(layer));
  CO_ASSIGN_OR_RETURN(found.npm, co_await FindNpm(layer));
  for (std::vector<std::string>* names : {&found.apt, &found.pip, &found.npm}) {
    std::sort(names->begin(), names->end());
    names->erase(std::unique(names->begin(), names->end()), names->end());
  }
  co_return found;
}

std::string ReinstallCommand(const InstalledPackages& packages) {
  std::string command;
  AddPart(&command, "apt-get update && apt-get install -y", packages.apt);
  AddPart(&command, "pip install", packages.pip);
  AddPart(&command, "npm install -g", packages.npm);
  return command;
}

}  // namespace sandkeep
