/** What a server program may read of its client. */
import { plain } from "../model/plain.ts"
import type { ClientCapabilities, Implementation } from "../model/types.ts"
import type { ClientFields } from "./Choose.ts"

export interface KnownClient {
  readonly info: Implementation | undefined
  readonly capabilities: ClientCapabilities
}

export const knownClient = ({ clientCapabilities, clientInfo }: ClientFields): KnownClient => ({
  info: plain(clientInfo ?? null) ?? undefined,
  capabilities: plain(clientCapabilities)
})
