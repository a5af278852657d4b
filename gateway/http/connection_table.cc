#include "gateway/http/connection_table.h"

#include <algorithm>

#include "gateway/http/connection.h"

namespace sandkeep::http {

void ConnectionTable::Add(const std::shared_ptr<Connection>& connection) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t age = ++last_age_;
  places_.emplace(connection.get(), Place{.source = connection->source(), .age = age});
  sources_[connection->source()].emplace(age, connection);
}

std::size_t ConnectionTable::Remove(const Connection* connection) {
  const std::lock_guard lock(mutex_);
  const auto place = places_.find(connection);
  if (place == places_.end()) return places_.size();
  const auto source = sources_.find(place->second.source);
  if (source != sources_.end()) {
    source->second.erase(place->second.age);
    if (source->second.empty()) sources_.erase(source);
  }
  places_.erase(place);
  return places_.size();
}

ConnectionTable::OfSource::iterator ConnectionTable::FirstDispensable(OfSource& connections) {
  for (auto it = connections.begin(); it != connections.end(); ++it) {
    const std::shared_ptr<Connection> connection = it->second.lock();
    if (connection != nullptr && !connection->serving()) return it;
  }
  return connections.end();
}

bool ConnectionTable::HasDispensable() {
  const std::lock_guard lock(mutex_);
  return std::any_of(sources_.begin(), sources_.end(), [](auto& source) {
    return FirstDispensable(source.second) != source.second.end();
  });
}

std::shared_ptr<Connection> ConnectionTable::TakeDispensable() {
  const std::lock_guard lock(mutex_);
  OfSource* most = nullptr;
  OfSource::iterator chosen;
  for (auto& [source, connections] : sources_) {
    if (most != nullptr && connections.size() <= most->size()) continue;
    const auto first = FirstDispensable(connections);
    if (first == connections.end()) continue;
    most = &connections;
    chosen = first;
  }
  if (most == nullptr) return nullptr;
  std::shared_ptr<Connection> connection = chosen->second.lock();
  most->erase(chosen);
  return connection;
}

std::vector<std::shared_ptr<Connection>> ConnectionTable::All() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Connection>> all;
  for (const auto& [source, connections] : sources_) {
    for (const auto& [age, weak] : connections) {
      if (std::shared_ptr<Connection> connection = weak.lock())
        all.push_back(std::move(connection));
    }
  }
  return all;
}

std::size_t ConnectionTable::size() const {
  const std::lock_guard lock(mutex_);
  return places_.size();
}

}  // namespace sandkeep::http
