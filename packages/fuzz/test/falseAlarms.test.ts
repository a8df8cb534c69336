/** Conversations in which a correct server was reported by mistake. */
import { Revision } from "@effect-mcp/protocol"
import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { target } from "./httpTarget.ts"

const conversations: ReadonlyArray<readonly [rule: string, script: Fuzz.Script]> = [
  [
    "batch-answered",
    {
      revision: "2025-03-26",
      commands: [
        // The server chooses its newest revision, which has no batches.
        { _tag: "Open", offer: "1999-01-01" },
        { _tag: "Batch", members: [{ _tag: "Request", method: "prompts/list", params: { cursor: "%%%" } }] },
        { _tag: "Wait" }
      ]
    }
  ],
  [
    "batch-answered",
    {
      revision: "2025-03-26",
      // The session may be over before the batch is read.
      commands: [
        { _tag: "Open" },
        { _tag: "Batch", members: [{ _tag: "Request", method: "ping" }] },
        { _tag: "Delete" },
        { _tag: "Wait" }
      ]
    }
  ],
  [
    "ping-empty",
    {
      revision: "2025-03-26",
      commands: [{ _tag: "Open" }, { _tag: "Request", method: "ping" }, { _tag: "Delete" }, { _tag: "Wait" }]
    }
  ],
  [
    "http-get",
    {
      revision: "2025-06-18",
      commands: [{ _tag: "Open" }, { _tag: "Listen" }, { _tag: "Delete" }, { _tag: "Wait" }]
    }
  ],
  [
    "http-get",
    {
      revision: "2025-03-26",
      // A server with sessions refuses both.
      commands: [{ _tag: "Listen" }, { _tag: "Request", method: "resources/list" }, { _tag: "Wait" }]
    }
  ],
  [
    "http-session-ended",
    {
      revision: "2025-06-18",
      commands: [
        { _tag: "Open" },
        { _tag: "Delete" },
        { _tag: "Request", method: "ping", http: { headers: { accept: "text/plain" } } },
        { _tag: "Wait" }
      ]
    }
  ],
  [
    "http-version-invalid",
    {
      revision: "2025-11-25",
      commands: [
        { _tag: "Open" },
        { _tag: "Request", method: "tools/list", http: { headers: { "mcp-protocol-version": "nonsense" } } },
        { _tag: "Delete" },
        { _tag: "Wait" }
      ]
    }
  ]
]

describe("Correct HTTP servers", () => {
  it.live.each(conversations)("The rule %s does not accuse a correct server: %j", ([, script]) =>
    Effect.gen(function* () {
      const server = yield* target()
      const revisions = Revision.all.filter(({ version }) => version === script.revision)
      const surveys = yield* Fuzz.survey(server, { revisions })
      assert.lengthOf(surveys, 1)
      for (const survey of surveys) {
        const { found } = yield* Fuzz.play(server, survey, script, { rules: Fuzz.rules })
        assert.deepStrictEqual(found, [])
      }
    })
  )

  it.live("A parser may reject a non-JSON body before checking the session", () =>
    Effect.gen(function* () {
      // Like `express.json()`.
      const server = yield* target(
        () =>
          ({ message, request }) =>
            request.method === "POST" && message === undefined
              ? Promise.resolve(
                  new Response("<pre>SyntaxError</pre>", { status: 400, headers: { "content-type": "text/html" } })
                )
              : undefined
      )
      for (const survey of yield* Fuzz.survey(server)) {
        const commands: ReadonlyArray<Fuzz.Command> = [
          { _tag: "Open" },
          { _tag: "Raw", text: "{" },
          { _tag: "Delete" },
          { _tag: "Raw", text: "{" },
          { _tag: "Wait" }
        ]
        const script = { revision: survey.revision, commands }
        const { found } = yield* Fuzz.play(server, survey, script, { rules: Fuzz.rules })
        assert.deepStrictEqual(found, [])
      }
    })
  )
})
