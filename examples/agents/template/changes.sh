#!/bin/sh
# Prints what has changed since the last release, and for whom.
cat changes.txt
