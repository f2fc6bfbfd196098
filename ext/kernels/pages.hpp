// Large zeroed arrays that the system may back with huge pages: vectors are read here and there, and with
// small pages half of the time goes into finding where each is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace pi_vectors {

constexpr size_t HUGE_PAGE = size_t(2) << 20;

// An array of n zeroed T. Pages that nobody has written to take no memory.
template <class T>
class Pages {
public:
    explicit Pages(size_t n) {
#if defined(__linux__)
        bytes_ = (n * sizeof(T) + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
        // One page more than is needed, so that an aligned part of it can be cut out.
        void* all = mmap(nullptr, bytes_ + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (all == MAP_FAILED) throw std::bad_alloc();
        const uintptr_t begin = reinterpret_cast<uintptr_t>(all);
        const uintptr_t aligned = (begin + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
        if (aligned != begin) munmap(all, aligned - begin);
        const size_t behind = begin + HUGE_PAGE - aligned;
        if (behind) munmap(reinterpret_cast<void*>(aligned + bytes_), behind);
        data_ = reinterpret_cast<T*>(aligned);
        madvise(data_, bytes_, MADV_HUGEPAGE);  // a wish: where it is not granted, pages are small
#else
        data_ = static_cast<T*>(std::calloc(n, sizeof(T)));
        if (data_ == nullptr) throw std::bad_alloc();
#endif
    }
    ~Pages() {
#if defined(__linux__)
        munmap(data_, bytes_);
#else
        std::free(data_);
#endif
    }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;

    T* get() const { return data_; }
    T& operator[](size_t i) const { return data_[i]; }

private:
    T* data_ = nullptr;
    size_t bytes_ = 0;
};

}  // namespace pi_vectors
