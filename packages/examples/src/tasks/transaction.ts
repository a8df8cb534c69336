import { Once, Tool, Tools } from "@effect-mcp/core"
import { Tasks } from "@effect-mcp/tasks"
import * as Sqlite from "@effect-mcp/tasks/sqlite"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"

const Book = Tool.make("book", {
  description: "Books a seat",
  input: { seat: Schema.String },
  output: { seat: Schema.String },
  task: "required"
})

const book = Tools.layer(
  Book,
  Effect.fn("book")(function* ({ seat }) {
    const sql = yield* SqlClient.SqlClient
    const booked = Effect.as(
      sql`INSERT INTO booking (seat) VALUES (${seat})`,
      seat
    )
    return {
      seat: yield* Effect.orDie(
        Once.transaction(sql)("book", Schema.String, booked)
      )
    }
  })
)
const table = Layer.effectDiscard(
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`CREATE TABLE IF NOT EXISTS booking (seat text PRIMARY KEY)`
  )
)

// Tasks and handler share one `SqlClient`. On Postgres, it is the client that
// was passed to `layerPostgres`.
export const features = Layer.mergeAll(book, Tasks.layerStore()).pipe(
  Layer.provide(table),
  Layer.provide(Sqlite.layer({ file: "tasks.db" }))
)
