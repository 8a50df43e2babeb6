package ecosystem

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

type user struct {
	gorm.Model
	Name     string `gorm:"uniqueIndex:users_name;size:100;not null"`
	Age      int    `gorm:"check:age_not_negative,age >= 0;default:18"`
	Active   bool
	Birthday *time.Time
	Photo    []byte
	Company  *company
	// CompanyID refers to the company, which may be missing.
	CompanyID *uint
	Pets      []pet      `gorm:"constraint:OnDelete:CASCADE"`
	Languages []language `gorm:"many2many:user_languages"`
}

type company struct {
	ID   uint
	Name string
}

type pet struct {
	ID     uint
	UserID uint
	Name   string `gorm:"index"`
}

type language struct {
	Code string `gorm:"primaryKey;size:8"`
	Name string
}

func openGorm(t *testing.T, db *sql.DB) *gorm.DB {
	t.Helper()
	g, err := gorm.Open(sqlite.New(sqlite.Config{Conn: db}), &gorm.Config{Logger: logger.Discard, TranslateError: true})
	done(t, err)
	return g
}

func TestGorm(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB) {
		g := openGorm(t, db)
		for range 2 { // the second finds everything as it wants it
			done(t, g.AutoMigrate(&company{}, &language{}, &user{}, &pet{}))
		}
		born := time.Date(1990, 5, 1, 0, 0, 0, 0, time.UTC)
		ann := user{Name: "ann", Age: 30, Active: true, Birthday: &born, Photo: []byte{0, 1, 2},
			Company: &company{Name: "Acme"}, Pets: []pet{{Name: "Rex"}, {Name: "Tom"}},
			Languages: []language{{Code: "en", Name: "English"}, {Code: "de", Name: "German"}}}
		done(t, g.Create(&ann).Error)
		if ann.ID == 0 || ann.Company.ID == 0 || ann.Pets[1].ID == 0 || ann.CreatedAt.IsZero() {
			t.Fatalf("no ids: %+v", ann)
		}
		bob := user{Name: "bob"}
		done(t, g.Create(&bob).Error)
		equal(t, "default age", bob.Age, 18)

		var got user
		done(t, g.Preload(clause.Associations).First(&got, "name = ?", "ann").Error)
		equal(t, "company", got.Company.Name, "Acme")
		equal(t, "pets", len(got.Pets), 2)
		equal(t, "languages", len(got.Languages), 2)
		if !got.Birthday.Equal(born) || !got.CreatedAt.Equal(ann.CreatedAt) || len(got.Photo) != 3 {
			t.Fatalf("read %+v", got)
		}

		// Batches, conditions, joins, groups.
		batch := make([]user, 250)
		for i := range batch {
			batch[i] = user{Name: "u" + time.Duration(i).String(), Age: 20 + i%5}
		}
		done(t, g.CreateInBatches(batch, 100).Error)
		var n int64
		done(t, g.Model(&user{}).Where("age BETWEEN ? AND ?", 20, 24).Count(&n).Error)
		equal(t, "batch", n, 250)
		var groups []struct{ Age, N int }
		done(t, g.Model(&user{}).Select("age, count(*) AS n").Group("age").Having("n > ?", 10).Order("age").Scan(&groups).Error)
		equal(t, "groups", len(groups), 5)
		var joined user
		done(t, g.Joins("Company").First(&joined, ann.ID).Error)
		equal(t, "joined company", joined.Company.Name, "Acme")

		// Updates: one column, several, an expression, what does not match.
		done(t, g.Model(&bob).Update("age", 40).Error)
		done(t, g.Model(&bob).Updates(map[string]any{"active": true, "age": gorm.Expr("age + ?", 1)}).Error)
		done(t, g.First(&bob, bob.ID).Error)
		equal(t, "age", bob.Age, 41)
		res := g.Model(&user{}).Where("age = ?", 22).Update("active", true)
		done(t, res.Error)
		equal(t, "rows affected", res.RowsAffected, 50)
		bob.Age = 42
		done(t, g.Save(&bob).Error)

		// Upserts.
		done(t, g.Clauses(clause.OnConflict{DoNothing: true}).Create(&user{Name: "ann", Age: 99}).Error)
		done(t, g.Clauses(clause.OnConflict{
			Columns: []clause.Column{{Name: "name"}}, DoUpdates: clause.AssignmentColumns([]string{"age", "updated_at"}),
		}).Create(&user{Name: "ann", Age: 31}).Error)
		got = user{}
		done(t, g.First(&got, ann.ID).Error)
		equal(t, "age after upsert", got.Age, 31)
		done(t, g.Clauses(clause.OnConflict{UpdateAll: true}).Create(&[]language{{"en", "British English"}, {"fr", "French"}}).Error)
		var en language
		done(t, g.FirstOrCreate(&en, language{Code: "en"}).Error)
		equal(t, "language", en.Name, "British English")

		// RETURNING.
		var changed []user
		done(t, g.Model(&changed).Clauses(clause.Returning{Columns: []clause.Column{{Name: "id"}, {Name: "age"}}}).Where("name = ?", "bob").Update("age", 50).Error)
		if len(changed) != 1 || changed[0].Age != 50 || changed[0].ID != bob.ID {
			t.Fatalf("returned %+v", changed)
		}
		var gone []pet
		done(t, g.Clauses(clause.Returning{}).Where("name = ?", "Tom").Delete(&gone).Error)
		if len(gone) != 1 || gone[0].Name != "Tom" {
			t.Fatalf("returned %+v", gone)
		}

		// Errors are told by kind.
		if err := g.Create(&user{Name: "ann"}).Error; !errors.Is(err, gorm.ErrDuplicatedKey) && !isUnique(err) {
			t.Fatalf("got %v", err)
		}
		if err := g.Create(&user{Name: "old", Age: -1}).Error; err == nil {
			t.Fatal("a CHECK was not enforced")
		}

		// Transactions, nested ones as savepoints.
		errStop := errors.New("stop")
		err := g.Transaction(func(tx *gorm.DB) error {
			done(t, tx.Create(&user{Name: "kept"}).Error)
			if err := tx.Transaction(func(in *gorm.DB) error {
				done(t, in.Create(&user{Name: "undone"}).Error)
				return errStop
			}); !errors.Is(err, errStop) {
				t.Fatal(err)
			}
			return nil
		})
		done(t, err)
		done(t, g.Model(&user{}).Where("name IN ?", []string{"kept", "undone"}).Count(&n).Error)
		equal(t, "nested", n, 1)

		// Associations and deletes, soft and hard.
		done(t, g.Model(&ann).Association("Languages").Append(&language{Code: "it", Name: "Italian"}))
		equal(t, "languages", g.Model(&ann).Association("Languages").Count(), 3)
		done(t, g.Model(&ann).Association("Languages").Clear())
		done(t, g.Delete(&bob).Error)
		if err := g.First(&user{}, bob.ID).Error; !errors.Is(err, gorm.ErrRecordNotFound) {
			t.Fatal(err)
		}
		done(t, g.Unscoped().First(&user{}, bob.ID).Error)
		done(t, g.Unscoped().Delete(&user{}, ann.ID).Error)
		done(t, g.Model(&pet{}).Count(&n).Error)
		equal(t, "pets after cascade", n, 0)
	})
}

// userV2 is a later version of users: a new column, a wider one, a new index.
type userV2 struct {
	gorm.Model
	Name     string `gorm:"uniqueIndex:users_name;size:200;not null"`
	Age      int64  `gorm:"check:age_not_negative,age >= 0;default:18"`
	Active   bool
	Nickname string `gorm:"index;default:none"`
}

func (userV2) TableName() string { return "users" }

func TestGormMigrator(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB) {
		g := openGorm(t, db)
		done(t, g.AutoMigrate(&company{}, &language{}, &user{}, &pet{}))
		done(t, g.Create(&user{Name: "ann", Pets: []pet{{Name: "Rex"}}}).Error)
		done(t, g.AutoMigrate(&userV2{}))
		m := g.Migrator()
		for what, ok := range map[string]bool{
			"new column": m.HasColumn(&userV2{}, "nickname"), "old column": m.HasColumn(&userV2{}, "photo"),
			"new index": m.HasIndex(&userV2{}, "Nickname"), "old index": m.HasIndex(&userV2{}, "users_name"),
			"table": m.HasTable("pets"), "constraint": m.HasConstraint(&userV2{}, "age_not_negative"),
		} {
			if !ok {
				t.Errorf("%s is missing", what)
			}
		}
		var u userV2
		done(t, g.First(&u).Error)
		equal(t, "nickname", u.Nickname, "none")
		done(t, m.RenameColumn(&userV2{}, "nickname", "alias"))
		done(t, m.DropColumn(&userV2{}, "photo"))
		done(t, m.RenameIndex(&pet{}, "idx_pets_name", "pets_by_name"))
		done(t, m.DropIndex(&pet{}, "pets_by_name"))
		done(t, m.RenameTable("languages", "tongues"))
		types, err := m.ColumnTypes("users")
		done(t, err)
		names := map[string]string{}
		for _, c := range types {
			names[c.Name()] = c.DatabaseTypeName()
		}
		if _, ok := names["photo"]; ok || names["alias"] == "" || names["id"] != "integer" {
			t.Fatalf("columns %v", names)
		}
		tables, err := m.GetTables()
		done(t, err)
		equal(t, "tables", len(tables), 6) // sqlite_sequence too
		done(t, m.DropTable("user_languages", "pets"))
	})
}
