// SPDX-License-Identifier: Apache-2.0
#include "analyze/statistics/student_t.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace nl {
namespace {

// Values of printed tables.
TEST(StudentT, AgreesWithTables) {
  EXPECT_NEAR(StudentQuantile(0.05, 1), 12.7062, 1e-4);
  EXPECT_NEAR(StudentQuantile(0.01, 4), 4.60409, 1e-5);
  EXPECT_NEAR(StudentQuantile(0.01, 38), 2.71156, 1e-5);
  EXPECT_NEAR(StudentQuantile(0.001, 10), 4.58689, 1e-5);
  EXPECT_NEAR(StudentTwoSidedP(2.0, 5), 0.101939, 1e-6);
  EXPECT_NEAR(NormalQuantile(0.975), 1.959964, 1e-6);
  EXPECT_NEAR(NormalQuantile(0.01), -2.326348, 1e-6);
}

// With one degree of freedom it is the Cauchy distribution, with two it has a closed form too.
TEST(StudentT, AgreesWithClosedForms) {
  for (const double t : {0.001, 0.3, 1.0, 7.0, 1e4}) {
    EXPECT_NEAR(StudentTwoSidedP(t, 1), 1 - 2 / 3.141592653589793 * std::atan(t), 1e-12) << t;
    EXPECT_NEAR(StudentTwoSidedP(t, 2), 1 - t / std::sqrt(2 + t * t), 1e-12) << t;
  }
}

TEST(StudentT, QuantileIsTheInverse) {
  for (const double df : {0.7, 1.0, 2.5, 9.0, 250.0, 1e6, 1e8}) {
    for (const double p : {1e-9, 1e-4, 0.01, 0.3, 0.999}) {
      const double t = StudentQuantile(p, df);
      EXPECT_NEAR(StudentTwoSidedP(t, df) / p, 1, 1e-7) << df << " " << p;
    }
  }
}

TEST(StudentT, OddInputGivesNoEvidence) {
  EXPECT_EQ(StudentTwoSidedP(std::nan(""), 5), 1);
  EXPECT_EQ(StudentTwoSidedP(3, 0), 1);
  EXPECT_EQ(StudentTwoSidedP(3, std::nan("")), 1);
  EXPECT_EQ(StudentTwoSidedP(std::numeric_limits<double>::infinity(), 5), 0);
  EXPECT_EQ(StudentQuantile(1, 5), 0);
}

}  // namespace
}  // namespace nl
