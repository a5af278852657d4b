// Beast's own non-template code, compiled once.
#include <boost/beast/src.hpp>
