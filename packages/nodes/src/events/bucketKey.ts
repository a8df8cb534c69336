/** The key of a bucket: names of callers may be long, and have any character. */
import { createHash } from "node:crypto"

export const bucketKey = (bucket: string): string => createHash("sha256").update(bucket).digest("base64url")
