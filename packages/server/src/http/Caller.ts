/** One name for each caller of an HTTP endpoint, for limits that no caller may use up alone. */
import type { Principal } from "@effect-mcp/core/Principal"

/** A principal as text, unique by issuer and subject; empty where it has no subject. */
export const nameOf = ({ claims, subject }: Principal["Service"]): string =>
  subject === undefined ? "" : JSON.stringify([claims["iss"], subject])

/** The principal of a request, or else the address that it came from; empty where neither is known. */
export const callerOf = ({
  address,
  principal
}: {
  readonly address?: string | undefined
  readonly principal?: Principal["Service"] | undefined
}): string => (principal === undefined ? "" : nameOf(principal)) || (address ?? "")
