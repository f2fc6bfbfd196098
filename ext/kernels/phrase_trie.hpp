// Aho-Corasick over tokens: a trie of phrases whose failure links let one walk over a text find all of them.
// Children live in one open-addressing table keyed by (node, token id). Read-only once finish() has run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "flat_map.hpp"
#include "interner.hpp"
#include "token_stream.hpp"

namespace pi_rank {

class PhraseTrie {
  public:
    PhraseTrie() {
        new_node(CONTENT_ROOT, NONE);
        new_node(LITERAL_ROOT, NONE);
    }

    std::size_t phrase_count() const noexcept { return phrases_.size(); }

    std::size_t bytes() const noexcept {
        return labels_.bytes() + children_.bytes() + nodes_.capacity() * sizeof(Node) +
               phrases_.capacity() * sizeof(Phrase);
    }

    // Adds the phrase at `index` in the list of `row`, from its tokens. Rows come in ascending order and each
    // row's indexes too. A phrase without tokens is left out: it can never match.
    void add(std::int32_t row, std::int32_t index, const TokenStream& stream) {
        bool literal = true;
        for (const Token& token : stream.tokens()) literal = literal && token.kind == TokenKind::FUNCTION;
        std::uint32_t node = literal ? LITERAL_ROOT : CONTENT_ROOT;
        for (const Token& token : stream.tokens()) {
            if (literal || token.kind == TokenKind::CONTENT) node = descend(node, stream.text(token), token.hash);
        }
        if (node > LITERAL_ROOT) phrases_.push_back({node, row, index});
    }

    // Adds the phrases of `other`, all of whose rows are later ones, without those of dead rows.
    void absorb(const PhraseTrie& other, const std::vector<std::uint8_t>& dead) {
        std::vector<Phrase> alive;
        for (const Phrase& phrase : other.phrases_) {
            if (!dead[phrase.row]) alive.push_back(phrase);
        }
        std::sort(alive.begin(), alive.end(), [](const Phrase& a, const Phrase& b) {
            return a.row != b.row ? a.row < b.row : a.index < b.index;
        });
        for (const Phrase& phrase : alive) {
            phrases_.push_back({copy_path(other, phrase.node), phrase.row, phrase.index});
        }
    }

    // Groups the phrases by node and sets the failure links, breadth first. Call once, after the last phrase.
    void finish() {
        // Stable: a node's phrases stay in order of row and index.
        std::stable_sort(phrases_.begin(), phrases_.end(),
                         [](const Phrase& a, const Phrase& b) { return a.node < b.node; });
        phrases_.shrink_to_fit();
        nodes_.shrink_to_fit();
        for (std::uint32_t i = static_cast<std::uint32_t>(phrases_.size()); i-- > 0;) {
            nodes_[phrases_[i].node].first_phrase = i;
        }
        for (const std::uint32_t node : breadth_first()) link(node);
    }

    // Appends (row << 32 | index) of every phrase in the text, those of dead rows left out. A phrase that occurs
    // many times is reported once.
    void match(const TokenStream& stream, const std::vector<std::uint8_t>& dead,
               std::vector<std::uint64_t>& hits) const {
        if (phrases_.empty()) return;
        FlatMap reported;
        std::uint32_t content = CONTENT_ROOT;
        std::uint32_t literal = LITERAL_ROOT;
        for (const Token& token : stream.tokens()) {
            if (token.kind == TokenKind::BREAK) {
                content = CONTENT_ROOT;
                literal = LITERAL_ROOT;
                continue;
            }
            const std::uint32_t label = labels_.find(stream.text(token), token.hash);
            if (token.kind == TokenKind::FUNCTION) {
                literal = step(literal, label);
                report(literal, dead, reported, hits);
            } else {
                literal = LITERAL_ROOT;  // a literal phrase holds function words only
                content = step(content, label);
                report(content, dead, reported, hits);
            }
        }
    }

  private:
    static constexpr std::uint32_t CONTENT_ROOT = 0;
    static constexpr std::uint32_t LITERAL_ROOT = 1;

    struct Node {
        std::uint32_t parent;
        std::uint32_t label;
        std::uint32_t depth;
        std::uint32_t fail;          // the node of the longest proper suffix that is in the trie
        std::uint32_t report;        // itself where a phrase ends here, else the next such node by failure links
        std::uint32_t first_phrase;  // in phrases_, or NONE
    };
    struct Phrase {
        std::uint32_t node;
        std::int32_t row;
        std::int32_t index;
    };

    std::uint32_t child(std::uint32_t node, std::uint32_t label) const noexcept {
        return children_.find(static_cast<std::uint64_t>(node) << 32 | label);
    }

    std::uint32_t new_node(std::uint32_t parent, std::uint32_t label) {
        const std::uint32_t depth = label == NONE ? 0 : nodes_[parent].depth + 1;
        nodes_.push_back({parent, label, depth, parent, NONE, NONE});
        return static_cast<std::uint32_t>(nodes_.size() - 1);
    }

    std::uint32_t descend(std::uint32_t node, std::string_view key, std::uint64_t hash) {
        const std::uint32_t label = labels_.add(key, hash);
        const std::uint32_t known = child(node, label);
        if (known != NONE) return known;
        const std::uint32_t fresh = new_node(node, label);
        children_.insert(static_cast<std::uint64_t>(node) << 32 | label, fresh);
        return fresh;
    }

    std::uint32_t copy_path(const PhraseTrie& other, std::uint32_t node) {
        std::vector<std::uint32_t> path;
        for (; node > LITERAL_ROOT; node = other.nodes_[node].parent) path.push_back(other.nodes_[node].label);
        std::uint32_t copy = node;  // the root: the same number in both
        for (std::size_t i = path.size(); i-- > 0;) {
            const std::string_view key = other.labels_[path[i]];
            copy = descend(copy, key, hash_bytes(key));
        }
        return copy;
    }

    std::vector<std::uint32_t> breadth_first() const {
        std::vector<std::uint32_t> order(nodes_.size() - 2);
        for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i + 2;
        std::stable_sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
            return nodes_[a].depth < nodes_[b].depth;
        });
        return order;
    }

    void link(std::uint32_t number) {
        Node& node = nodes_[number];
        // A node of depth 1 fails to its root, which is its parent.
        if (node.depth > 1) node.fail = step(nodes_[node.parent].fail, node.label);
        node.report = node.first_phrase != NONE ? number : nodes_[node.fail].report;
    }

    std::uint32_t step(std::uint32_t node, std::uint32_t label) const noexcept {
        for (;;) {
            const std::uint32_t next = child(node, label);
            if (next != NONE || node <= LITERAL_ROOT) return next != NONE ? next : node;
            node = nodes_[node].fail;
        }
    }

    void report(std::uint32_t node, const std::vector<std::uint8_t>& dead, FlatMap& reported,
                std::vector<std::uint64_t>& hits) const {
        // A node that was reported before had its whole chain reported with it, so the walk stays linear.
        for (node = nodes_[node].report; node != NONE && reported.insert(node, node);
             node = nodes_[nodes_[node].fail].report) {
            for (std::size_t i = nodes_[node].first_phrase; i < phrases_.size() && phrases_[i].node == node; ++i) {
                const Phrase& phrase = phrases_[i];
                if (dead[phrase.row]) continue;
                hits.push_back(static_cast<std::uint64_t>(phrase.row) << 32 |
                               static_cast<std::uint32_t>(phrase.index));
            }
        }
    }

    Interner labels_;
    FlatMap children_;
    std::vector<Node> nodes_;
    std::vector<Phrase> phrases_;
};

}  // namespace pi_rank
