#include "agent/file_process/file_server.h"

#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "agent/file_process/beneath.h"
#include "agent/file_process/remover.h"
#include "common/limits.h"
#include "common/status_macros.h"

namespace sandkeep {
namespace {

using files::v1::Entry;
using files::v1::Reply;
using files::v1::Request;

// A reply of a long list is sent when it has grown to this; one more entry still fits.
constexpr std::size_t kFullReply = kMaxInitFrameBytes - 1_KiB;

void WaitFor(int fd, short events) {
  pollfd ready{fd, events, 0};
  ::poll(&ready, 1, -1);
}

std::int64_t Nanoseconds(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

void Fill(Entry& entry, const struct stat& info) {
  entry.set_mode(info.st_mode);
  entry.set_size(info.st_size);
  entry.set_modified_ns(Nanoseconds(info.st_mtim));
  entry.set_changed_ns(Nanoseconds(info.st_ctim));
  entry.set_device(info.st_dev);
  entry.set_inode(info.st_ino);
}

// What of a file tells it from another one.
struct stat ToStat(const Entry& entry) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  struct stat info{};
  info.st_size = entry.size();
  info.st_ctim.tv_sec = entry.changed_ns() / kSecond;
  info.st_ctim.tv_nsec = entry.changed_ns() % kSecond;
  info.st_dev = entry.device();
  info.st_ino = entry.inode();
  return info;
}

constexpr std::size_t kPartBytes = 16;

}  // namespace

absl::StatusOr<Frame> FileServer::Receive() {
  for (;;) {
    auto frame = agent_.Receive();
    if (!absl::IsResourceExhausted(frame.status())) return frame;
    WaitFor(agent_.fd(), POLLIN);
  }
}

absl::Status FileServer::Send(const Reply& reply, int descriptor) {
  const std::string bytes = reply.SerializeAsString();
  const auto descriptors =
      descriptor < 0 ? absl::Span<const int>() : absl::MakeConstSpan(&descriptor, 1);
  for (;;) {
    absl::Status sent = agent_.Send(bytes, descriptors);
    if (!absl::IsResourceExhausted(sent)) return sent;
    WaitFor(agent_.fd(), POLLOUT);
  }
}

absl::Status FileServer::Answer(std::uint64_t id, int error) {
  Reply reply;
  reply.set_id(id);
  reply.set_error(error);
  return Send(reply);
}

absl::Status FileServer::Pong(std::uint64_t id) {
  Reply reply;
  reply.set_id(id);
  reply.mutable_pong();
  return Send(reply);
}

absl::Status FileServer::AwaitMaps() {
  RETURN_IF_ERROR(Pong(0));
  ASSIGN_OR_RETURN(const Frame frame, Receive());
  Request request;
  if (!request.ParseFromString(frame.bytes) || !request.has_ping()) {
    return absl::InvalidArgumentError("the agent's first request must be a ping");
  }
  ping_ = request.id();
  return absl::OkStatus();
}

absl::Status FileServer::Serve() {
  RETURN_IF_ERROR(Pong(ping_));
  for (;;) {
    auto frame = Receive();
    if (absl::IsUnavailable(frame.status())) return absl::OkStatus();
    RETURN_IF_ERROR(frame.status());
    RETURN_IF_ERROR(Handle(*std::move(frame)));
  }
}

absl::Status FileServer::Handle(Frame frame) {
  Request request;
  if (!request.ParseFromString(frame.bytes)) {
    return absl::InvalidArgumentError("a request that doesn't parse");
  }
  const std::uint64_t id = request.id();
  switch (request.call_case()) {
    case Request::kAddVolume:
      return Answer(id, AddVolume(request.add_volume(), frame));
    case Request::kDropVolume:
      DropVolume(request.drop_volume().volume());
      return Answer(id, 0);
    case Request::kStat:
      return Stat(id, request.stat());
    case Request::kOpen:
      return Open(id, request.open());
    case Request::kList:
      return List(id, request.list());
    case Request::kCreate:
      return Create(id, request.create());
    case Request::kCommit:
      return Commit(id, request.commit());
    case Request::kDelete:
      return Delete(id, request.delete_());
    case Request::kPing:
      return Pong(id);
    case Request::kMeasure:
      return Measure(id, request.measure());
    case Request::CALL_NOT_SET:
      break;
  }
  return Answer(id, ENOSYS);
}

int FileServer::AddVolume(const files::v1::AddVolume& request, Frame& frame) {
  if (frame.descriptors.size() != 1) return EBADF;
  UniqueFd& folder = frame.descriptors.front();
  struct stat info{};
  if (::fstat(folder.get(), &info) != 0) return errno;
  if (!S_ISDIR(info.st_mode)) return ENOTDIR;
  const bool known = volumes_.contains(request.volume());
  // The agent keeps to half of it, but for those that it adds and drops at this moment.
  if (!known && volumes_.size() >= kMaxFileProcessVolumes) return ENFILE;
  volumes_[request.volume()] = std::move(folder);
  return 0;
}

int FileServer::Volume(std::uint64_t handle) const {
  const auto volume = volumes_.find(handle);
  return volume != volumes_.end() ? volume->second.get() : -1;
}

absl::Status FileServer::Stat(std::uint64_t id, const files::v1::Stat& request) {
  const int volume = Volume(request.volume());
  if (volume < 0) return Answer(id, EBADF);
  const Located located = LocateBeneath(volume, request.path());
  if (located.error != 0) return Answer(id, located.error);
  Reply reply;
  reply.set_id(id);
  Fill(*reply.mutable_entry(), located.info);
  return Send(reply);
}

absl::Status FileServer::Open(std::uint64_t id, const files::v1::Open& request) {
  const int volume = Volume(request.volume());
  if (volume < 0) return Answer(id, EBADF);
  const Located opened = OpenBeneath(volume, request.path());
  if (opened.error != 0) return Answer(id, opened.error);
  Reply reply;
  reply.set_id(id);
  Fill(*reply.mutable_entry(), opened.info);
  return Send(reply, opened.fd.get());
}

absl::Status FileServer::List(std::uint64_t id, const files::v1::List& request) {
  const int volume = Volume(request.volume());
  if (volume < 0) return Answer(id, EBADF);
  const int limit = static_cast<int>(std::min<std::uint32_t>(request.limit(), kMaxListEntries));
  Reply reply;
  reply.set_id(id);
  absl::Status sent;
  std::size_t size = 0;
  const auto visit = [&](const std::string& name, const struct stat& info) {
    if (!sent.ok()) return;
    Entry& entry = *reply.mutable_entries()->add_entries();
    entry.set_path(name);
    Fill(entry, info);
    size += entry.ByteSizeLong() + 4;
    if (size < kFullReply) return;
    reply.mutable_entries()->set_more(true);
    sent = Send(reply);
    reply.mutable_entries()->Clear();
    size = 0;
  };
  bool truncated = false;
  const int error = ListBeneath(volume, request.path(), limit, visit, truncated);
  RETURN_IF_ERROR(sent);
  if (error != 0) return Answer(id, error);
  reply.mutable_entries()->set_truncated(truncated);
  return Send(reply);
}

absl::Status FileServer::Create(std::uint64_t id, const files::v1::Create& request) {
  const int volume = Volume(request.volume());
  if (volume < 0) return Answer(id, EBADF);
  if (files_.size() >= kMaxFileParts) return Answer(id, ENFILE);
  const std::string& part = request.part();
  if (!part.empty() && part.size() != kPartBytes) return Answer(id, EINVAL);
  NewFile::Made made =
      NewFile::Make(volume, request.path(), request.make_parents(), absl::BytesToHexString(part));
  if (made.error != 0) return Answer(id, made.error);
  Reply reply;
  reply.set_id(id);
  files::v1::Created& created = *reply.mutable_created();
  created.set_handle(next_file_++);
  created.set_received(made.received);
  if (made.target.has_value()) Fill(*created.mutable_target(), *made.target);
  const int write_end = made.file.file().get();
  files_.emplace(created.handle(), std::move(made.file));
  return Send(reply, write_end);
}

absl::Status FileServer::Commit(std::uint64_t id, const files::v1::Commit& request) {
  const auto found = files_.find(request.handle());
  if (found == files_.end()) return Answer(id, EBADF);
  NewFile file = std::move(found->second);
  files_.erase(found);
  if (request.keep()) {
    file.LetGo();
    return Answer(id, 0);
  }
  CommitTerms terms{.must_be_new = request.must_be_new(), .expected = {}, .size = request.size()};
  if (request.has_expected()) terms.expected = ToStat(request.expected());
  struct stat info{};
  if (const int error = file.Commit(terms, info); error != 0) {
    file.LetGo();
    return Answer(id, error);
  }
  Reply reply;
  reply.set_id(id);
  Fill(*reply.mutable_entry(), info);
  return Send(reply, file.folder().get());
}

absl::Status FileServer::Delete(std::uint64_t id, const files::v1::Delete& request) {
  const int volume = Volume(request.volume());
  if (volume < 0) return Answer(id, EBADF);
  const int most =
      static_cast<int>(std::min<std::uint32_t>(request.max_entries(), kMaxListEntries));
  const RemovalTerms terms{.recursive = request.recursive(),
                           .max_entries = most,
                           .unchanged_since_ns = request.unchanged_since_ns(),
                           .begun = request.begun()};
  const Removal removal = RemoveBeneath(volume, request.path(), terms);
  if (removal.error != 0) return Answer(id, removal.error);
  Reply reply;
  reply.set_id(id);
  reply.mutable_deleted()->set_removed(removal.removed);
  reply.mutable_deleted()->set_more(removal.more);
  return Send(reply);
}

void FileServer::DropVolume(std::uint64_t handle) {
  volumes_.erase(handle);
  // Nobody can ask for the rest of them.
  absl::erase_if(walks_, [handle](const auto& walk) { return walk.second.volume == handle; });
}

absl::Status FileServer::Measure(std::uint64_t id, const files::v1::Measure& request) {
  std::uint64_t name = request.walk();
  if (request.give_up()) {
    walks_.erase(name);
    return Answer(id, 0);
  }
  if (name == 0) {
    const int volume = Volume(request.volume());
    if (volume < 0) return Answer(id, EBADF);
    if (walks_.size() >= kMaxMeasuredAtOnce) return Answer(id, ENFILE);
    Measurement walk;
    if (const int error = walk.Begin(volume, request.path()); error != 0) return Answer(id, error);
    name = next_walk_++;
    walks_.emplace(name, Walk{request.volume(), std::move(walk)});
  }
  const auto found = walks_.find(name);
  if (found == walks_.end()) return Answer(id, EBADF);
  const bool done = found->second.tree.GoOn(std::chrono::steady_clock::now() + kMeasureTurn);
  const Measures& measures = found->second.tree.measures();
  Reply reply;
  reply.set_id(id);
  files::v1::Measured& measured = *reply.mutable_measured();
  measured.set_bytes(measures.bytes);
  measured.set_inodes(measures.inodes);
  measured.set_newest_ns(measures.newest_ns);
  measured.set_unread(measures.unread);
  measured.set_other_mount(measures.other_mount);
  measured.set_walk(done ? 0 : name);
  if (done) walks_.erase(found);
  return Send(reply);
}

}  // namespace sandkeep
