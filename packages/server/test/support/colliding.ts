/**
 * Texts of questions that had the same key under the 53-bit hash that named questions at first: the first pair as messages of a question in
 * rounds, the second in a task. They were found in seconds, which is why names of questions need a cryptographic hash.
 */
export const colliding = [
  [
    "Pay 10 EUR to Bob? Reference \uf061\u4061\u8061\u7061\u9061\u2061",
    "Pay 99999 EUR to Mallory? Reference jubttb\ue061\ud061\ub061\ud061\ub061\u1061"
  ],
  [
    "Pay 10 EUR to Bob? Reference \u5061\ue061\u5061\u1061\u8061\u2061",
    "Pay 99999 EUR to Mallory? Reference eyqbrb\ud061\uc061\u5061\u5061\ua061\u3061"
  ]
] as const
