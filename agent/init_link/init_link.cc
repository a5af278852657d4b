#include "agent/init_link/init_link.h"

#include <signal.h>

#include <utility>

#include "agent/init_link/channel.h"

namespace sandkeep {
namespace {

using init::v1::ToInit;

class ChannelLink : public InitLink {
 public:
  explicit ChannelLink(std::shared_ptr<Channel> channel) : channel_(std::move(channel)) {}
  ~ChannelLink() override { channel_->Close(); }

  Async<std::vector<InitJob>> Hello() override { return channel_->Hello(); }
  void Listen() override { channel_->Listen(); }
  absl::Status Start(InitStart start) override { return channel_->Start(std::move(start)); }
  absl::Status StandBy(InitStandby shell) override { return channel_->StandBy(std::move(shell)); }
  absl::Status Use(const JobId& standby, const JobId& id) override {
    return channel_->Use(standby, id);
  }
  absl::Status Forget(const JobId& id) override { return channel_->Forget(id); }
  void Close() override { channel_->Close(); }

  absl::Status EndInput(const JobId& id) override {
    ToInit message;
    message.mutable_input()->set_job_id(id.bytes());
    message.mutable_input()->set_end(true);
    return channel_->Tell(message, &id);
  }

  absl::Status Signal(const JobId& id, int signal, bool tree) override {
    if (signal < 1 || signal > SIGRTMAX) return absl::InvalidArgumentError("no such signal");
    ToInit message;
    message.mutable_signal()->set_job_id(id.bytes());
    message.mutable_signal()->set_signal(signal);
    message.mutable_signal()->set_tree(tree);
    return channel_->Tell(message, &id);
  }

  absl::Status FreezeAll() override {
    ToInit message;
    message.mutable_freeze();
    return channel_->Freeze(message);
  }

  absl::Status ThawAll() override {
    ToInit message;
    message.mutable_thaw();
    return channel_->Freeze(message);
  }

 private:
  std::shared_ptr<Channel> channel_;
};

}  // namespace

std::unique_ptr<InitLink> MakeInitLink(boost::asio::any_io_executor strand,
                                       RunningContainer container, InitEvents& events,
                                       Random& random, std::chrono::milliseconds hello_deadline) {
  return std::make_unique<ChannelLink>(std::make_shared<Channel>(
      std::move(strand), std::move(container), events, random, hello_deadline));
}

}  // namespace sandkeep
