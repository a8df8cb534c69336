/** Rules about how a client ends: it must survive some faults, and it must not hang. */
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

/** Returns the server's fault if it has only one. With several it is unclear which one is the cause. */
const only = (faults: ReadonlyArray<ServerFault>): ServerFault | undefined =>
  faults.length === 1 ? faults[0] : undefined

/** Requires that the client succeeds despite this fault. */
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
    text: "A client understands JSON responses as well as event streams.",
    since: "2025-03-26",
    transport: "http",
    on: {
      Ended: ({ ending: { how, kind } }, { faults }) =>
        faults.length > 0
          ? undefined
          : kind === "done"
            ? "pass"
            : violated(`With a correct server, the client ${kind}: ${how}`)
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
    text: "A client keeps going after messages that do not concern it, and after questions that it rejects.",
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
    text: "A client exits by itself, whatever a server does.",
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
    text: "A client exits soon after all of its requests are answered, correctly or not.",
    on: {
      Ended: ({ ending: { kind } }, { asked, faults }) => {
        const fault = only(faults)
        if (fault === undefined || isEndless(fault)) return undefined
        return kind === "hung" ? violated(`It keeps waiting after ${show(asked.at(-1)?.method)}`, about(fault)) : "pass"
      }
    }
  }
]
