// Prints every list of the API: a line of JSON for each item that the Go client of openapi-generator reads.
package main

import (
	"context"
	"encoding/json"
	"os"

	"example/mirror"
)

func main() {
	ctx := context.WithValue(context.Background(), mirror.ContextAccessToken, os.Getenv("OBSYNC_SERVE_TOKEN"))
	config := mirror.NewConfiguration()
	config.Servers = mirror.ServerConfigurations{{URL: os.Getenv("URL")}}
	client := mirror.NewAPIClient(config)
	environments, _, err := client.EnvironmentsAPI.ListEnvironments(ctx).Execute()
	check(err)
	for _, environment := range environments {
		env := environment.Id
		write("environments", env, environment)
		read("assets", env, func(cursor string) ([]mirror.Asset, string) {
			page, _, err := client.AssetsAPI.ListAssets(ctx, env).Limit(7).Cursor(cursor).Execute()
			check(err)
			return page.Items, page.GetNextCursor()
		})
		read("table_assets", env, func(cursor string) ([]mirror.TableAsset, string) {
			page, _, err := client.AssetsAPI.ListTableAssets(ctx, env).Limit(7).Cursor(cursor).Execute()
			check(err)
			return page.Items, page.GetNextCursor()
		})
		read("bi_assets", env, func(cursor string) ([]mirror.BiAsset, string) {
			page, _, err := client.AssetsAPI.ListBiAssets(ctx, env).Limit(7).Cursor(cursor).Execute()
			check(err)
			return page.Items, page.GetNextCursor()
		})
		read("columns", env, func(cursor string) ([]mirror.Column, string) {
			page, _, err := client.ColumnsAPI.ListColumns(ctx, env).Limit(7).Cursor(cursor).Execute()
			check(err)
			return page.Items, page.GetNextCursor()
		})
		read("asset_lineage", env, func(cursor string) ([]mirror.AssetLineageEdge, string) {
			page, _, err := client.AssetLineageAPI.ListAssetLineageEdges(ctx, env).Limit(7).Cursor(cursor).Execute()
			check(err)
			return page.Items, page.GetNextCursor()
		})
		read("column_lineage", env, func(cursor string) ([]mirror.ColumnLineageEdge, string) {
			page, _, err := client.ColumnLineageAPI.ListColumnLineageEdges(ctx, env).Limit(7).Cursor(cursor).Execute()
			check(err)
			return page.Items, page.GetNextCursor()
		})
		read("latest_test_executions", env, func(cursor string) ([]mirror.TestExecution, string) {
			page, _, err := client.LatestTestExecutionsAPI.ListLatestTestExecutions(ctx, env).Limit(7).Cursor(cursor).Execute()
			check(err)
			return page.Items, page.GetNextCursor()
		})
		read("asset_health_scores", env, func(cursor string) ([]mirror.AssetHealthScore, string) {
			page, _, err := client.AssetHealthScoresAPI.ListAssetHealthScores(ctx, env).Limit(7).Cursor(cursor).Execute()
			check(err)
			return page.Items, page.GetNextCursor()
		})
		tests := read("tests", env, func(cursor string) ([]mirror.Test, string) {
			page, _, err := client.TestsAPI.ListTests(ctx, env).Limit(7).Cursor(cursor).Execute()
			check(err)
			return page.Items, page.GetNextCursor()
		})
		for _, test := range tests {
			read("test_executions", env, func(cursor string) ([]mirror.TestExecution, string) {
				page, _, err := client.TestExecutionsAPI.ListTestExecutions(ctx, env, test.Id).Limit(7).Cursor(cursor).Execute()
				check(err)
				return page.Items, page.GetNextCursor()
			})
		}
	}
}

func read[T any](list, env string, page func(cursor string) ([]T, string)) (all []T) {
	items, cursor := page("")
	for all = items; cursor != ""; all = append(all, items...) {
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
