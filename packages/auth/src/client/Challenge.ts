/** What a server says when it refuses a request: the grammar is the protocol's, since every client reads it. */
export * from "@effect-mcp/protocol/Challenge"
