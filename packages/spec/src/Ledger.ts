/**
 * The ledger: every area merged, and the union of all ids.
 *
 * Owns the list of areas. An id starts with the name of its area, so areas cannot collide.
 */
import { jsonRpc } from "./ledger/json-rpc.ts"
import { lifecycle } from "./ledger/lifecycle.ts"
import { tools } from "./ledger/tools.ts"
import { stdio, transport } from "./ledger/transports-stdio.ts"
import { cancellation, ping, progress } from "./ledger/utilities.ts"
import { byId, requirements } from "./Requirement.ts"

/** The requirements by area, in the order of the specification. */
export const areas = { "json-rpc": jsonRpc, lifecycle, transport, stdio, cancellation, ping, progress, tools } as const

/** The name of an area, which is the first segment of its ids. */
export type Area = keyof typeof areas

/** Every entry by its id. */
export const ledger = byId(requirements(...Object.values(areas)))

/** The id of an entry, such as `tools.call.unknown-tool`. */
export type RequirementId = keyof typeof ledger

/** Whether the text is the id of an entry. */
export const isRequirementId = (id: string): id is RequirementId => Object.hasOwn(ledger, id)
