#!/bin/sh
# Installing a package starts no service: a sandbox has no service manager. Start it by hand.
exit 101
