// The connections that there are, and which of them can go when there is no room for another: one
// that serves nobody, of the address that has the most, the longest there. So whoever takes all
// places takes them from themself, and behind one proxy the least used one goes. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace sandkeep::http {

class Connection;

class ConnectionTable {
 public:
  void Add(const std::shared_ptr<Connection>& connection);
  // How many are left.
  std::size_t Remove(const Connection* connection);

  bool HasDispensable();
  // The one that can go, to be cut; it is given once. nullptr: all are serving.
  std::shared_ptr<Connection> TakeDispensable();

  std::vector<std::shared_ptr<Connection>> All() const;
  std::size_t size() const;

 private:
  // By age.
  using OfSource = std::map<std::uint64_t, std::weak_ptr<Connection>>;
  struct Place {
    std::string source;
    std::uint64_t age;
  };
  static OfSource::iterator FirstDispensable(OfSource& connections);

  mutable std::mutex mutex_;  // Guards what stands below it.
  std::uint64_t last_age_ = 0;
  // The key outlives its connection by a moment at most: it is never dereferenced.
  absl::flat_hash_map<const Connection*, Place> places_;
  std::map<std::string, OfSource> sources_;
};

}  // namespace sandkeep::http
