// An encoder file as pointers into it (pi_rank/embedding/making/encoder_file.py writes and describes it), and what a pass works on.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace pi_encoder {

constexpr size_t ALIGNMENT = 64;
constexpr size_t OUTPUTS = 64;  // of a matrix that lie together
constexpr size_t HEADER = 64;

struct Norm {
    const float* scale;
    const float* bias;
};

struct Product {
    size_t in, out;
    const float* factor;    // [in], of the inputs before they are quantised
    const int8_t* weights;  // [out / 64, in / 4, 64, 4]
    const float* scale;     // [out]
    const int32_t* sums;    // [out], of the weights
    const float* bias;      // [out]
};

struct Layer {
    Product qkv, mix;
    Norm attended;
    Product widen, narrow;
    Norm output;
};

struct Model {
    size_t width = 0, heads = 0, inner = 0, vocabulary = 0, positions = 0, head_size = 0;
    float epsilon = 0;
    const int8_t* tokens = nullptr;        // [vocabulary, width]
    const float* token_scales = nullptr;   // [vocabulary]
    const float* position_rows = nullptr;  // [positions, width]
    Norm embedded = {};
    std::vector<Layer> layers;
    const char* strings = nullptr;
    size_t strings_size = 0;
};

// Reads sections one after the other; throws std::invalid_argument where the file ends before them.
class Sections {
public:
    Sections(const uint8_t* data, size_t size) : data_(data), size_(size) {}

    template <class T>
    const T* take(size_t count) {
        const size_t bytes = count * sizeof(T);
        if (bytes > size_ - at_) throw std::invalid_argument("is cut short");
        const T* found = reinterpret_cast<const T*>(data_ + at_);
        at_ = std::min(size_, at_ + (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
        return found;
    }

    // Floats must be finite: one that is not spoils every vector, and not where it is.
    const float* floats(size_t count) {
        const float* found = take<float>(count);
        int32_t largest = 0;
        for (size_t i = 0; i < count; ++i) {
            int32_t bits;
            std::memcpy(&bits, found + i, sizeof bits);
            largest = std::max(largest, bits & 0x7fffffff);
        }
        if (largest >= 0x7f800000) throw std::invalid_argument("holds a number that is not finite");
        return found;
    }

    Norm norm(size_t width) {
        const float* scale = floats(width);
        return {scale, floats(width)};
    }

    Product product(size_t in, size_t out) {
        Product p;
        p.in = in;
        p.out = out;
        p.factor = floats(in);
        p.weights = take<int8_t>(in * out);
        p.scale = floats(out);
        p.sums = take<int32_t>(out);
        p.bias = floats(out);
        return p;
    }

    bool at_end() const { return at_ == size_; }

private:
    const uint8_t* data_;
    size_t size_, at_ = 0;
};

inline uint32_t header_count(const uint8_t* data, size_t index) {
    uint32_t value;
    std::memcpy(&value, data + 8 + 4 * index, 4);
    return value;
}

// The model of a file of `size` bytes that stays where it is, from a multiple of 64 bytes on. Throws
// std::invalid_argument where it is none, is cut short, or is of an architecture that the kernels do not know.
inline Model read_model(const uint8_t* data, size_t size) {
    if (size < HEADER || std::memcmp(data, "PIRKENC1", 8) != 0)
        throw std::invalid_argument("is no encoder file of this version");
    Model m;
    const size_t layers = header_count(data, 0);
    m.width = header_count(data, 1);
    m.heads = header_count(data, 2);
    m.inner = header_count(data, 3);
    m.vocabulary = header_count(data, 4);
    m.positions = header_count(data, 5);
    m.strings_size = header_count(data, 6);
    std::memcpy(&m.epsilon, data + 36, 4);
    const bool known = layers >= 1 && layers <= 64 && m.width >= 64 && m.width <= 4096 && m.width % 64 == 0 &&
                       m.inner >= 64 && m.inner <= 16384 && m.inner % 64 == 0 && m.heads >= 1 &&
                       m.width % m.heads == 0 && m.width / m.heads % 16 == 0 && m.width / m.heads <= 256 && m.vocabulary >= 1 &&
                       m.vocabulary <= (1u << 22) && m.positions >= 1 && m.positions <= 65536 &&
                       m.epsilon > 0 && m.epsilon < 1;
    if (!known) throw std::invalid_argument("is of an architecture that this version does not run");
    m.head_size = m.width / m.heads;
    Sections sections(data + HEADER, size - HEADER);
    m.tokens = sections.take<int8_t>(m.vocabulary * m.width);
    m.token_scales = sections.floats(m.vocabulary);
    m.position_rows = sections.floats(m.positions * m.width);
    m.embedded = sections.norm(m.width);
    for (size_t i = 0; i < layers; ++i) {
        Layer layer;
        layer.qkv = sections.product(m.width, 3 * m.width);
        layer.mix = sections.product(m.width, m.width);
        layer.attended = sections.norm(m.width);
        layer.widen = sections.product(m.width, m.inner);
        layer.narrow = sections.product(m.inner, m.width);
        layer.output = sections.norm(m.width);
        m.layers.push_back(layer);
    }
    m.strings = sections.take<char>(m.strings_size);
    if (!sections.at_end()) throw std::invalid_argument("is longer than its header says");
    return m;
}

// Memory from a multiple of 64 bytes on, that grows and never shrinks.
class Space {
public:
    template <class T>
    T* get(size_t count) {
        const size_t bytes = count * sizeof(T) + ALIGNMENT;
        if (bytes > size_) {
            memory_.reset(new uint8_t[bytes]);
            size_ = bytes;
        }
        const uintptr_t at = reinterpret_cast<uintptr_t>(memory_.get());
        return reinterpret_cast<T*>((at + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    }

private:
    std::unique_ptr<uint8_t[]> memory_;
    size_t size_ = 0;
};

// What one pass works in; kept from call to call, because fresh pages cost more than they hold.
struct Scratch {
    Space hidden, wide, mixed, codes, row_scales, row_zeros, keys, scores;
};

class ScratchPool {
public:
    std::unique_ptr<Scratch> take() {
        std::lock_guard<std::mutex> guard(lock_);
        if (idle_.empty()) return std::unique_ptr<Scratch>(new Scratch);
        std::unique_ptr<Scratch> found = std::move(idle_.back());
        idle_.pop_back();
        return found;
    }

    void give_back(std::unique_ptr<Scratch> scratch) {
        std::lock_guard<std::mutex> guard(lock_);
        idle_.push_back(std::move(scratch));
    }

private:
    std::mutex lock_;
    std::vector<std::unique_ptr<Scratch>> idle_;
};

// Texts one after the other: text i has the tokens [starts[i], starts[i + 1]).
struct Texts {
    const int32_t* ids;
    const int32_t* starts;
    size_t count;
};

}  // namespace pi_encoder
