// All pairs by simhash-cpp (github.com/seomoz/simhash-cpp), for `bench-compare pairs COUNT ROUNDS DISTANCE
// ./simhash-cpp`, which runs it in turn with hapax-dedup. Its sources are part of the Python package simhash-py:
//
//   pip download --no-deps --no-binary :all: simhash-py && tar xzf simhash-py-*.tar.gz
//   P=$(echo simhash-py-*/simhash/simhash-cpp)
//   g++ -O3 -march=native -std=c++14 -I$P/include simhash-cpp.cpp $P/src/*.cpp -o simhash-cpp
//   ./simhash-cpp FILE BLOCKS DISTANCE
//
// FILE contains fingerprints of eight bytes each, little endian. Prints the CPU seconds of `find_all` and the number of
// pairs.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <unordered_set>

#include "simhash.h"

int main(int count, char** arguments) {
    if (count < 4) {
        std::fprintf(stderr, "simhash-cpp FILE BLOCKS DISTANCE\n");
        return 2;
    }
    std::FILE* file = std::fopen(arguments[1], "rb");
    if (!file) {
        std::perror(arguments[1]);
        return 1;
    }
    std::unordered_set<Simhash::hash_t> values;
    unsigned char bytes[8];
    while (std::fread(bytes, 8, 1, file) == 1) {
        Simhash::hash_t value = 0;
        for (int i = 7; i >= 0; i--) value = value << 8 | bytes[i];
        values.insert(value);
    }
    std::fclose(file);
    std::clock_t start = std::clock();
    size_t pairs = Simhash::find_all(values, std::atoi(arguments[2]), std::atoi(arguments[3])).size();
    std::printf("%.6f %zu\n", double(std::clock() - start) / CLOCKS_PER_SEC, pairs);
}
