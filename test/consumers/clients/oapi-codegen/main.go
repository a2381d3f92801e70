// Prints every list of the API: a line of JSON for each item that the client of oapi-codegen reads.
package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"

	"example/mirror"
)

var limit = int64(7)

func main() {
	ctx := context.Background()
	client, err := mirror.NewClientWithResponses(os.Getenv("URL"), mirror.WithRequestEditorFn(authorize))
	check(err)
	environments, err := client.ListEnvironmentsWithResponse(ctx, nil)
	check(err)
	for _, environment := range *environments.JSON200 {
		env := environment.Id
		write("environments", env, environment)
		read("assets", env, func(cursor *string) ([]mirror.Asset, *string) {
			r, err := client.ListAssetsWithResponse(ctx, env, &mirror.ListAssetsParams{Limit: &limit, Cursor: cursor})
			check(err)
			return r.JSON200.Items, r.JSON200.NextCursor
		})
		read("table_assets", env, func(cursor *string) ([]mirror.TableAsset, *string) {
			r, err := client.ListTableAssetsWithResponse(ctx, env, &mirror.ListTableAssetsParams{Limit: &limit, Cursor: cursor})
			check(err)
			return r.JSON200.Items, r.JSON200.NextCursor
		})
		read("bi_assets", env, func(cursor *string) ([]mirror.BiAsset, *string) {
			r, err := client.ListBiAssetsWithResponse(ctx, env, &mirror.ListBiAssetsParams{Limit: &limit, Cursor: cursor})
			check(err)
			return r.JSON200.Items, r.JSON200.NextCursor
		})
		read("columns", env, func(cursor *string) ([]mirror.Column, *string) {
			r, err := client.ListColumnsWithResponse(ctx, env, &mirror.ListColumnsParams{Limit: &limit, Cursor: cursor})
			check(err)
			return r.JSON200.Items, r.JSON200.NextCursor
		})
		read("asset_lineage", env, func(cursor *string) ([]mirror.AssetLineageEdge, *string) {
			r, err := client.ListAssetLineageEdgesWithResponse(ctx, env, &mirror.ListAssetLineageEdgesParams{Limit: &limit, Cursor: cursor})
			check(err)
			return r.JSON200.Items, r.JSON200.NextCursor
		})
		read("column_lineage", env, func(cursor *string) ([]mirror.ColumnLineageEdge, *string) {
			r, err := client.ListColumnLineageEdgesWithResponse(ctx, env, &mirror.ListColumnLineageEdgesParams{Limit: &limit, Cursor: cursor})
			check(err)
			return r.JSON200.Items, r.JSON200.NextCursor
		})
		read("latest_test_executions", env, func(cursor *string) ([]mirror.TestExecution, *string) {
			r, err := client.ListLatestTestExecutionsWithResponse(ctx, env, &mirror.ListLatestTestExecutionsParams{Limit: &limit, Cursor: cursor})
			check(err)
			return r.JSON200.Items, r.JSON200.NextCursor
		})
		read("asset_health_scores", env, func(cursor *string) ([]mirror.AssetHealthScore, *string) {
			r, err := client.ListAssetHealthScoresWithResponse(ctx, env, &mirror.ListAssetHealthScoresParams{Limit: &limit, Cursor: cursor})
			check(err)
			return r.JSON200.Items, r.JSON200.NextCursor
		})
		tests := read("tests", env, func(cursor *string) ([]mirror.Test, *string) {
			r, err := client.ListTestsWithResponse(ctx, env, &mirror.ListTestsParams{Limit: &limit, Cursor: cursor})
			check(err)
			return r.JSON200.Items, r.JSON200.NextCursor
		})
		for _, test := range tests {
			read("test_executions", env, func(cursor *string) ([]mirror.TestExecution, *string) {
				r, err := client.ListTestExecutionsWithResponse(ctx, env, test.Id, &mirror.ListTestExecutionsParams{Limit: &limit, Cursor: cursor})
				check(err)
				return r.JSON200.Items, r.JSON200.NextCursor
			})
		}
	}
}

func authorize(_ context.Context, request *http.Request) error {
	request.Header.Set("Authorization", "Bearer "+os.Getenv("OBSYNC_SERVE_TOKEN"))
	return nil
}

func read[T any](list, env string, page func(cursor *string) ([]T, *string)) (all []T) {
	items, cursor := page(nil)
	for all = items; cursor != nil; all = append(all, items...) {
		items, cursor = page(cursor)
	}
	for _, item := range all {
		write(list, env, item)
	}
	return all
}

func write(list, env string, item any) {
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{"list": list, "env_id": env, "item": item}))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
