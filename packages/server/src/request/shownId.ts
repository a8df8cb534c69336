import { digest } from "@effect-mcp/core/internal/digest"
import type { Facts } from "./Detached.ts"

/** Returns the id of a task for logs and views, or a digest of it if the caller is anonymous: then knowing the id may grant access. */
export const shownId = (id: string, caller: Pick<Facts["principal"], "subject"> | undefined): string =>
  caller?.subject === undefined ? digest(id) : id
