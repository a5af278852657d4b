// A strand as small as it can be. Over any_io_executor it is too big for another any_io_executor to
// hold in place, so that each wait and each change of executor would allocate it anew.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>

namespace sandkeep {

inline boost::asio::any_io_executor MakeStrand(const boost::asio::any_io_executor& executor) {
  const auto* const plain = executor.target<boost::asio::io_context::executor_type>();
  if (plain == nullptr) return boost::asio::make_strand(executor);
  return boost::asio::make_strand(*plain);
}

}  // namespace sandkeep
