// Computes fingerprints as the Chinese simhash in C++ does (github.com/yanyiwu/simhash): weighted hashes of cppjieba's
// keywords by TF-IDF. Its sources and dictionaries are part of the npm package nodejieba. Run it right before and after
// `bench-compare text FOLDER`, on the same folder:
//
//   npm pack nodejieba && tar xzf nodejieba-*.tgz && P=package/submodules/cppjieba
//   g++ -O3 -march=native -std=c++17 -I$P/include -I$P/deps/limonp/include cppjieba.cpp -o cppjieba
//   ./cppjieba $P/dict FOLDER
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "cppjieba/KeywordExtractor.hpp"

static uint64_t hash(const std::string& word) {
    uint64_t hash = 0xcbf29ce484222325;
    for (unsigned char byte : word) hash = (hash ^ byte) * 0x100000001b3;
    return hash;
}

int main(int count, char** arguments) {
    if (count < 3) {
        std::cerr << "cppjieba DICTIONARIES FOLDER\n";
        return 2;
    }
    std::string dict = arguments[1];
    cppjieba::KeywordExtractor extractor(dict + "/jieba.dict.utf8", dict + "/hmm_model.utf8",
                                         dict + "/idf.utf8", dict + "/stop_words.utf8");
    std::vector<std::string> texts;
    size_t bytes = 0;
    for (auto& entry : std::filesystem::recursive_directory_iterator(arguments[2])) {
        if (!entry.is_regular_file()) continue;
        std::ifstream file(entry.path());
        std::stringstream text;
        text << file.rdbuf();
        texts.push_back(text.str());
        bytes += texts.back().size();
    }
    for (int round = 0; round < 3; round++) {
        auto start = std::chrono::steady_clock::now();
        uint64_t all = 0;
        for (auto& text : texts) {
            std::vector<std::pair<std::string, double>> words;
            extractor.Extract(text, words, 200);
            double sums[64] = {};
            for (auto& [word, weight] : words) {
                uint64_t bits = hash(word);
                for (int i = 0; i < 64; i++) sums[i] += (bits >> i & 1) ? weight : -weight;
            }
            for (int i = 0; i < 64; i++) all ^= uint64_t(sums[i] > 0) << i;
        }
        std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
        std::cout << "cppjieba " << bytes / time.count() / 1e6 << " MB/s (" << all << ")\n";
    }
}
