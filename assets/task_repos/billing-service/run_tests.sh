#!/bin/sh
# Compiles the service and its tests into build/ and runs every *Test class. Needs a JDK 17, nothing else.
set -eu
cd "$(dirname "$0")"
rm -rf build
mkdir -p build/main build/test
find src/main/java -name '*.java' > build/main.list
find src/test/java -name '*.java' > build/test.list
javac --release 17 -Xlint:all -d build/main @build/main.list
javac --release 17 -cp build/main -d build/test @build/test.list
exec java -cp build/main:build/test com.acme.billing.testkit.TestRunner build/test
