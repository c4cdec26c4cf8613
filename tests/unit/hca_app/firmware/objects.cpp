// SPDX-License-Identifier: BSD-3-Clause
#include "firmware/objects.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <stdexcept>
#include <vector>

using namespace mrz::firmware;

namespace {

struct Domain : Object {
    static constexpr Kind kind = Kind::pd;
    Domain(std::uint32_t number, std::uint16_t uid, bool* ended = nullptr) : Object{kind, number, uid}, ended_{ended}
    {
    }
    void end() override
    {
        if (refuses)
            throw std::runtime_error{"no"};
        if (ended_ != nullptr)
            *ended_ = true;
    }
    bool refuses = false;

  private:
    bool* ended_;
};
struct Queue : Object {
    static constexpr Kind kind = Kind::cq;
    Queue(std::uint32_t number, std::uint16_t uid, Use<Domain> of) : Object{kind, number, uid}, domain{std::move(of)}
    {
    }
    Use<Domain> domain;
};

Status status_of(const std::function<void()>& action)
{
    try {
        action();
    } catch (const Refusal& refusal) {
        return refusal.status();
    }
    return Status::ok;
}

class TheObjects : public testing::Test {
  protected:
    TheObjects()
    {
        objects_.limit(Kind::pd, 8, 4);
        objects_.limit(Kind::cq, 0, 4);
    }
    Objects objects_;
};

TEST_F(TheObjects, OfOneUserAreNotAnothers)
{
    objects_.add(std::make_shared<Domain>(8, 1));
    EXPECT_EQ(objects_.find<Domain>(8, 1)->number(), 8U);
    EXPECT_EQ(objects_.find<Domain>(8, 0)->number(), 8U) << "the kernel may name every object";
    EXPECT_EQ(status_of([&] { (void)objects_.find<Domain>(8, 2); }), Status::bad_res);
    EXPECT_EQ(status_of([&] { (void)objects_.find<Domain>(8, 2, Of::uid_or_kernel); }), Status::bad_res);
    EXPECT_EQ(status_of([&] { objects_.destroy(Kind::pd, 8, 2); }), Status::bad_res);
    EXPECT_EQ(objects_.count(), 1U);
}

TEST_F(TheObjects, OfTheKernelAreUsersOnlyWhereThatIsMeant)
{
    objects_.add(std::make_shared<Domain>(8, 0));
    EXPECT_EQ(status_of([&] { (void)objects_.find<Domain>(8, 2); }), Status::bad_res);
    EXPECT_EQ(objects_.find<Domain>(8, 2, Of::uid_or_kernel)->number(), 8U);
    EXPECT_EQ(status_of([&] { objects_.destroy(Kind::pd, 8, 2); }), Status::bad_res);
}

TEST_F(TheObjects, InUseAreNotDestroyed)
{
    objects_.add(std::make_shared<Domain>(8, 0));
    objects_.add(std::make_shared<Queue>(0, 0, objects_.use<Domain>(8, 0)));
    EXPECT_EQ(status_of([&] { objects_.destroy(Kind::pd, 8, 0); }), Status::bad_res_state);
    objects_.destroy(Kind::cq, 0, 0);
    objects_.destroy(Kind::pd, 8, 0);
    EXPECT_EQ(objects_.count(), 0U);
    EXPECT_EQ(status_of([&] { objects_.destroy(Kind::pd, 8, 0); }), Status::bad_res);
}

TEST_F(TheObjects, ThatDoNotEndStay)
{
    const auto domain = std::make_shared<Domain>(8, 0);
    objects_.add(domain);
    domain->refuses = true;
    EXPECT_THROW(objects_.destroy(Kind::pd, 8, 0), std::runtime_error);
    EXPECT_EQ(objects_.find<Domain>(8, 0), domain);
    domain->refuses = false;
    objects_.destroy(Kind::pd, 8, 0);
}

TEST_F(TheObjects, NumbersComeBackLateAndRunOut)
{
    std::vector<std::uint32_t> given;
    for (int i = 0; i < 4; ++i) {
        given.push_back(objects_.vacant(Kind::pd));
        objects_.add(std::make_shared<Domain>(given.back(), 0));
    }
    EXPECT_EQ(given, (std::vector<std::uint32_t>{8, 9, 10, 11}));
    EXPECT_EQ(status_of([&] { (void)objects_.vacant(Kind::pd); }), Status::no_res);
    objects_.destroy(Kind::pd, 9, 0);
    objects_.destroy(Kind::pd, 11, 0);
    EXPECT_EQ(objects_.vacant(Kind::pd), 9U);
    EXPECT_EQ(objects_.vacant(Kind::pd), 11U) << "the one that was given last is not given next";
    EXPECT_EQ(status_of([&] { (void)objects_.vacant(Kind::qp); }), Status::no_res) << "without a limit there is none";
}

TEST_F(TheObjects, OfAUserGoWithItUsersFirst)
{
    bool ended = false;
    objects_.add(std::make_shared<Domain>(8, 5, &ended));
    objects_.add(std::make_shared<Domain>(9, 6));
    objects_.add(std::make_shared<Queue>(0, 5, objects_.use<Domain>(8, 5)));
    EXPECT_EQ(objects_.destroy_all_of(5), 2U);
    EXPECT_TRUE(ended);
    EXPECT_EQ(objects_.count(), 1U);
    EXPECT_EQ(objects_.count(Kind::pd), 1U);
}

TEST_F(TheObjects, OfAUserStayWhileTheKernelUsesThem)
{
    objects_.add(std::make_shared<Domain>(8, 5));
    objects_.add(std::make_shared<Queue>(0, 0, objects_.use<Domain>(8, 0)));
    EXPECT_EQ(objects_.destroy_all_of(5), 0U);
    EXPECT_EQ(objects_.count(), 2U);
    EXPECT_TRUE(objects_.has_any_of(5));
    objects_.destroy(Kind::cq, 0, 0);
    EXPECT_EQ(objects_.destroy_all_of(5), 1U);
    EXPECT_FALSE(objects_.has_any_of(5));
}

// As a key that is older than the domain that a request moved it to.
TEST_F(TheObjects, ThatAnOlderOneUsesEndAfterIt)
{
    struct Key : Object {
        Key(std::uint32_t number, Domain& of) : Object{Kind::cq, number, 0}, domain{of} { of.refuses = true; }
        void end() override { domain.refuses = false; }
        Domain& domain;
    };
    bool ended = false;
    const auto domain = std::make_shared<Domain>(8, 0, &ended);
    objects_.add(std::make_shared<Key>(0, *domain));
    objects_.add(domain);
    objects_.clear();
    EXPECT_EQ(objects_.count(), 0U);
    EXPECT_TRUE(ended);
}

TEST_F(TheObjects, AllGoWhateverTheySay)
{
    const auto domain = std::make_shared<Domain>(8, 5);
    domain->refuses = true;
    objects_.add(domain);
    objects_.add(std::make_shared<Queue>(0, 0, objects_.use<Domain>(8, 0)));
    objects_.clear();
    EXPECT_EQ(objects_.count(), 0U);
    EXPECT_EQ(domain->uses(), 0U);
    EXPECT_EQ(objects_.vacant(Kind::pd), 8U);
}

} // namespace
