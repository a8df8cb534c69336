/** Returns a bucket's key. Caller names may be long and contain any character, so they are hashed. */
import { createHash } from "node:crypto"

export const bucketKey = (bucket: string): string => createHash("sha256").update(bucket).digest("base64url")
