/** The answer to a request that arrives while the server is shutting down. */
import * as McpError from "@effect-mcp/protocol/McpError"

/** Tells the client that it may safely send the request again. */
export const notBegun = McpError.interrupted("The server is shutting down and did not start the request. Send it again")
