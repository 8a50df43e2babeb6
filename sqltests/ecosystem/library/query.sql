-- name: GetAuthor :one
SELECT * FROM authors WHERE id = ? LIMIT 1;

-- name: ListAuthors :many
SELECT * FROM authors ORDER BY name;

-- name: CreateAuthor :one
INSERT INTO authors(name, bio, born) VALUES (?, ?, ?) RETURNING *;

-- name: UpdateAuthor :execrows
UPDATE authors SET name = ?, bio = ? WHERE id = ?;

-- name: DeleteAuthor :exec
DELETE FROM authors WHERE id = ?;

-- name: UpsertBook :one
INSERT INTO books(author_id, title, price) VALUES (?, ?, ?)
ON CONFLICT(author_id, title) DO UPDATE SET price = excluded.price
RETURNING id, price;

-- name: AddBook :execlastid
INSERT INTO books(author_id, title) VALUES (sqlc.arg(author), sqlc.arg(title));

-- name: BooksOf :many
SELECT books.title, authors.name, books.price FROM books JOIN authors ON authors.id = books.author_id
WHERE authors.id IN (sqlc.slice('ids')) ORDER BY books.title;

-- name: Revenue :many
SELECT author_id, sum(price) AS total, count(*) AS books FROM books GROUP BY author_id ORDER BY author_id;
