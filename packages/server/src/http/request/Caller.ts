/** One name for each caller of an HTTP endpoint, for limits that no caller may use up alone. */
import * as Principal from "@effect-mcp/core/Principal"

/** A principal as text, unique by issuer and subject; empty where it has no subject. */
export const ownerOf = (principal: Principal.Principal["Service"]): string => Principal.nameOf(principal) ?? ""

/** The principal of a request, or else the address that it came from; empty where neither is known. */
export const callerOf = ({
  address,
  principal
}: {
  readonly address?: string | undefined
  readonly principal?: Principal.Principal["Service"] | undefined
}): string => (principal === undefined ? "" : ownerOf(principal)) || (address ?? "")
