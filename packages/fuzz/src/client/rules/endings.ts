/** Rules of how a client ends: what it must survive, and that it ends at all. */
import { show, violated } from "../../rules/judge.ts"
import type { ClientModel } from "../model/ClientModel.ts"
import type { ClientObservations, ClientRule } from "../model/ClientRule.ts"
import { type ServerFault, isEndless, isHarmless } from "../model/ServerScript.ts"

type Ended = ClientObservations["Ended"]

const about = ({ act, on }: ServerFault): string => {
  const what =
    act._tag === "Tell" || act._tag === "Ask"
      ? String(Object(act._tag === "Ask" ? act : act.message).method ?? "message")
      : ""
  return `${act._tag} ${what}`.trim() + (on === "*" ? "" : ` ${on}`)
}

/** What a server with one fault does; with several it is not known which one is the reason. */
const only = (faults: ReadonlyArray<ServerFault>): ServerFault | undefined =>
  faults.length === 1 ? faults[0] : undefined

/** The client does what it wanted, whatever these faults are. */
export const survives =
  (concerns: (fault: ServerFault) => boolean) =>
  ({ ending: { how, kind } }: Ended, { faults }: ClientModel) => {
    const fault = only(faults)
    if (fault === undefined || !concerns(fault)) return undefined
    return kind === "done" ? ("pass" as const) : violated(`The client ${kind}: it ${how}`, about(fault))
  }

const tells = (method: string) => (fault: ServerFault) =>
  fault.act._tag === "Tell" && Object(fault.act.message).method === method

export const endings: ReadonlyArray<ClientRule> = [
  {
    name: "client-supports-both",
    level: "MUST",
    requirement: "http.post.client-supports-both",
    section: "basic/transports#sending-messages-to-the-server",
    text: "A client understands a JSON answer as well as a stream of events.",
    since: "2025-03-26",
    transport: "http",
    on: {
      Ended: ({ ending: { how, kind } }, { faults }) =>
        faults.length > 0
          ? undefined
          : kind === "done"
            ? "pass"
            : violated(`With a right server the client ${kind}: ${how}`)
    }
  },
  {
    name: "client-cancellation-ignored",
    level: "SHOULD",
    requirement: "cancellation.invalid.unknown-id-ignored",
    section: "basic/utilities/cancellation#error-handling",
    text: "A cancellation that names an unknown request is ignored.",
    on: { Ended: survives(tells("notifications/cancelled")) }
  },
  {
    name: "client-completion-ignored",
    level: "MUST",
    requirement: "elicitation.complete.unknown-ignored",
    section: "client/elicitation#completion-notifications-for-url-mode-elicitation",
    text: "A client ignores a notification of completion whose id is unknown or already completed.",
    since: "2025-11-25",
    until: "2025-11-25",
    on: { Ended: survives(tells("notifications/elicitation/complete")) }
  },
  {
    name: "client-carries-on",
    level: "robustness",
    text: "A client carries on after messages that do not concern it, and after questions that it refuses.",
    on: {
      Ended: survives(
        (fault) =>
          isHarmless(fault) &&
          !tells("notifications/cancelled")(fault) &&
          !tells("notifications/elicitation/complete")(fault)
      )
    }
  },
  {
    name: "client-crashes",
    level: "robustness",
    text: "A client ends by itself, whatever a server does.",
    on: {
      Ended: ({ ending: { how, kind } }, { faults }) => {
        const fault = only(faults)
        if (fault === undefined) return undefined
        return kind === "crashed" ? violated(`It ${how}`, about(fault)) : "pass"
      }
    }
  },
  {
    name: "client-hangs",
    level: "robustness",
    text: "A client ends soon once every one of its requests is answered, rightly or not.",
    on: {
      Ended: ({ ending: { kind } }, { asked, faults }) => {
        const fault = only(faults)
        if (fault === undefined || isEndless(fault)) return undefined
        return kind === "hung" ? violated(`It waits on after ${show(asked.at(-1)?.method)}`, about(fault)) : "pass"
      }
    }
  }
]
