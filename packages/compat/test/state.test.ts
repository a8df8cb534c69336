/** The signed text of a request's state: its key, its age, and the user that it belongs to. */
import { createRequestStateCodec } from "@effect-mcp/compat/server"
import { assert, describe, it } from "@effect/vitest"

const key = "k".repeat(32)

const isRefused = (verified: Promise<unknown>): Promise<boolean> =>
  verified.then(
    () => false,
    () => true
  )

describe("createRequestStateCodec", () => {
  it.each(["", "k".repeat(31), new Uint8Array(31)])(
    "The request state codec throws a RangeError for the short key %j",
    (short) => {
      assert.throws(() => createRequestStateCodec({ key: short }), RangeError, "32")
    }
  )

  it.each([Infinity, NaN])("The request state codec throws a RangeError for ttlSeconds %j", (ttlSeconds) => {
    assert.throws(() => createRequestStateCodec({ key, ttlSeconds }), RangeError)
  })

  it("The request state codec verifies its own key and rejects others", async () => {
    const codec = createRequestStateCodec<{ step: number }>({ key })
    const state = await codec.mint({ step: 2 })
    assert.deepStrictEqual(await codec.verify(state), { step: 2 })
    assert.isTrue(await isRefused(createRequestStateCodec({ key: `${key}!` }).verify(state)))
    assert.isTrue(await isRefused(codec.verify(`${state}x`)))
  })

  it("The request state codec rejects a state older than ttlSeconds", async () => {
    const codec = createRequestStateCodec({ key, ttlSeconds: -1 })
    assert.isTrue(await isRefused(codec.verify(await codec.mint("late"))))
  })

  it("The request state codec rejects another user's state, and bound states without bind", async () => {
    const codec = createRequestStateCodec<string, { user: string }>({ key, bind: ({ user }) => user })
    const state = await codec.mint("mine", { user: "ada" })
    assert.strictEqual(await codec.verify(state, { user: "ada" }), "mine")
    assert.isTrue(await isRefused(codec.verify(state, { user: "bob" })))
    assert.isTrue(await isRefused(createRequestStateCodec({ key }).verify(state)))
    assert.isTrue(await isRefused(codec.mint("mine")))
  })
})
