/** Rules about clients over stdio: the lines they write, and how they stop their servers. */
import type { Verdict } from "../../model/Rule.ts"
import { show, violated } from "../../rules/judge.ts"
import type { ClientModel, ServerProcess } from "../model/ClientModel.ts"
import type { ClientRule } from "../model/ClientRule.ts"
import { survives } from "./endings.ts"

const latestStateful = "2025-11-25"
const page = "basic/transports/stdio"

/** Judges how the processes ended, if the client succeeded. */
const ended = (
  concerns: (process: ServerProcess) => boolean,
  kept: (process: ServerProcess) => boolean,
  what: string
): ClientRule["on"] => ({
  Ended: ({ ending }, { processes }: ClientModel): Verdict => {
    const judged = ending.kind === "done" ? processes.filter(concerns) : []
    if (judged.length === 0) return undefined
    return judged.every(kept) ? "pass" : violated(what)
  }
})

const staysOn = ({ inputEnded, lingers }: ServerProcess): boolean => inputEnded && lingers.input
const isTold = ({ signals, state }: ServerProcess): boolean => signals.includes("SIGTERM") || state === "killed"
const isKilled = ({ state }: ServerProcess): boolean => state === "killed"

const rules: ReadonlyArray<ClientRule> = [
  {
    name: "client-stdin-only-messages",
    level: "MUST",
    requirement: "stdio.stdin.only-messages",
    section: "basic/transports#stdio",
    text: "A client only writes messages to the server's stdin.",
    on: {
      Sent: ({ json, sent: { body } }) => (json === undefined ? violated(`It writes the line ${show(body)}`) : "pass")
    }
  },
  {
    name: "client-stdin-no-responses",
    level: "MUST",
    requirement: "stdio.client.no-responses",
    section: `${page}#sending-messages`,
    text: "A client never writes a response.",
    since: "2026-07-28",
    on: {
      // A client of both eras does not know the era of the server before its first response.
      Replied: ({ error, result }, { asked }) =>
        asked.some(({ over }) => over) ? violated(`The response ${show(result ?? error)} is written`) : undefined,
      Requested: () => "pass"
    }
  },
  {
    name: "client-stderr-no-error",
    level: "SHOULD",
    requirement: "stdio.stderr.not-an-error",
    section: "basic/transports#stdio",
    text: "A client does not treat output on stderr as an error.",
    since: "2025-11-25",
    on: { Ended: survives(({ act }) => act._tag === "Log") }
  },
  {
    name: "client-closes-stdin",
    level: "SHOULD",
    requirement: "lifecycle.shutdown.stdio-close-stdin",
    section: "basic/lifecycle#stdio",
    text: "A client shuts a server down by closing its stdin first, and waits for it to exit.",
    on: ended(
      ({ state }) => state !== "broke",
      ({ inputEnded, signalFirst }) => inputEnded && !signalFirst,
      "A signal came before the end of stdin"
    )
  },
  {
    name: "client-terminates",
    level: "SHOULD",
    requirement: "lifecycle.shutdown.stdio-sigterm",
    section: "basic/lifecycle#stdio",
    text: "A server that does not exit in reasonable time after its stdin is closed gets SIGTERM.",
    until: latestStateful,
    on: ended(staysOn, isTold, "The client has exited, but the server is still running")
  },
  {
    name: "client-kills",
    level: "SHOULD",
    requirement: "lifecycle.shutdown.stdio-sigkill",
    section: "basic/lifecycle#stdio",
    text: "A server that does not exit in reasonable time after SIGTERM gets SIGKILL.",
    until: latestStateful,
    on: ended(
      (process) => staysOn(process) && process.lingers.signals && isTold(process),
      isKilled,
      "The client has exited, but the server is still running after SIGTERM"
    )
  },
  {
    name: "client-ends-by-force",
    level: "SHOULD",
    requirement: "stdio.shutdown.forced",
    section: `${page}#shutdown`,
    text: "A server that does not exit in reasonable time is forcibly terminated.",
    since: "2026-07-28",
    on: ended(
      staysOn,
      (process) => isKilled(process) || (isTold(process) && !process.lingers.signals),
      "The client has exited, but the server is still running"
    )
  },
  {
    name: "client-restarts",
    level: "SHOULD",
    requirement: "stdio.client.restarts",
    section: `${page}#unexpected-termination`,
    text: "A client restarts a server that exited unexpectedly.",
    since: "2026-07-28",
    on: {
      Ended: (_, { asked, processes }) => {
        // A call may have had an effect, so a client may stop and let its user decide whether to retry.
        if (!processes.some(({ state }) => state === "broke") || asked.at(-1)?.method === "tools/call") return undefined
        return processes.length === 1 ? violated("It does not restart the server") : "pass"
      }
    }
  },
  {
    name: "client-notices-exit",
    level: "robustness",
    text: "A client does not wait for the response of a server that has exited.",
    on: {
      Ended: ({ ending: { kind } }, { asked, processes }) => {
        if (processes.at(-1)?.state !== "broke") return undefined
        return kind === "hung" ? violated(`It keeps waiting for the response to ${show(asked.at(-1)?.method)}`) : "pass"
      }
    }
  }
]

export const stdio = rules.map((rule): ClientRule => ({ ...rule, transport: "stdio" }))
