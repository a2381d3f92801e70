import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.*;
import org.openapitools.client.*;
import org.openapitools.client.api.*;
import org.openapitools.client.model.*;

/** Prints every list of the API: a line of JSON for each item that the Java client of openapi-generator reads. */
public class Lists {
  static final ObjectMapper JSON = ApiClient.createDefaultObjectMapper();

  public static void main(String[] args) throws Exception {
    ApiClient client = new ApiClient();
    client.updateBaseUri(System.getenv("URL"));
    String token = System.getenv("OBSYNC_SERVE_TOKEN");
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + token));
    var assets = new AssetsApi(client);
    var columns = new ColumnsApi(client);
    var tests = new TestsApi(client);
    var latest = new LatestTestExecutionsApi(client);
    var executions = new TestExecutionsApi(client);
    var scores = new AssetHealthScoresApi(client);
    var assetEdges = new AssetLineageApi(client);
    var columnEdges = new ColumnLineageApi(client);
    var none = EnvironmentsApi.APIListEnvironmentsRequest.newBuilder().build();
    for (Environment environment : new EnvironmentsApi(client).listEnvironments(none)) {
      String env = environment.getId();
      write("environments", env, environment);
      read("assets", env, cursor -> {
        var page = assets.listAssets(AssetsApi.APIListAssetsRequest.newBuilder().envId(env).limit(7L).cursor(cursor).build());
        return new Page<>(page.getItems(), page.getNextCursor());
      });
      read("table_assets", env, cursor -> {
        var page = assets.listTableAssets(AssetsApi.APIListTableAssetsRequest.newBuilder().envId(env).limit(7L).cursor(cursor).build());
        return new Page<>(page.getItems(), page.getNextCursor());
      });
      read("bi_assets", env, cursor -> {
        var page = assets.listBiAssets(AssetsApi.APIListBiAssetsRequest.newBuilder().envId(env).limit(7L).cursor(cursor).build());
        return new Page<>(page.getItems(), page.getNextCursor());
      });
      read("columns", env, cursor -> {
        var page = columns.listColumns(ColumnsApi.APIListColumnsRequest.newBuilder().envId(env).limit(7L).cursor(cursor).build());
        return new Page<>(page.getItems(), page.getNextCursor());
      });
      read("asset_lineage", env, cursor -> {
        var page = assetEdges.listAssetLineageEdges(AssetLineageApi.APIListAssetLineageEdgesRequest.newBuilder().envId(env).limit(7L).cursor(cursor).build());
        return new Page<>(page.getItems(), page.getNextCursor());
      });
      read("column_lineage", env, cursor -> {
        var page = columnEdges.listColumnLineageEdges(ColumnLineageApi.APIListColumnLineageEdgesRequest.newBuilder().envId(env).limit(7L).cursor(cursor).build());
        return new Page<>(page.getItems(), page.getNextCursor());
      });
      read("latest_test_executions", env, cursor -> {
        var page = latest.listLatestTestExecutions(LatestTestExecutionsApi.APIListLatestTestExecutionsRequest.newBuilder().envId(env).limit(7L).cursor(cursor).build());
        return new Page<>(page.getItems(), page.getNextCursor());
      });
      read("asset_health_scores", env, cursor -> {
        var page = scores.listAssetHealthScores(AssetHealthScoresApi.APIListAssetHealthScoresRequest.newBuilder().envId(env).limit(7L).cursor(cursor).build());
        return new Page<>(page.getItems(), page.getNextCursor());
      });
      var found = read("tests", env, cursor -> {
        var page = tests.listTests(TestsApi.APIListTestsRequest.newBuilder().envId(env).limit(7L).cursor(cursor).build());
        return new Page<>(page.getItems(), page.getNextCursor());
      });
      for (Test test : found)
        read("test_executions", env, cursor -> {
          var page = executions.listTestExecutions(TestExecutionsApi.APIListTestExecutionsRequest.newBuilder().envId(env).testId(test.getId()).limit(7L).cursor(cursor).build());
          return new Page<>(page.getItems(), page.getNextCursor());
        });
    }
  }

  record Page<T>(List<T> items, String next) {}

  interface Read<T> {
    Page<T> page(String cursor) throws ApiException;
  }

  static <T> List<T> read(String list, String env, Read<T> read) throws Exception {
    List<T> all = new ArrayList<>();
    String cursor = null;
    do {
      Page<T> page = read.page(cursor);
      all.addAll(page.items());
      cursor = page.next();
    } while (cursor != null);
    for (T item : all) write(list, env, item);
    return all;
  }

  static void write(String list, String env, Object item) throws Exception {
    System.out.write(JSON.writeValueAsBytes(Map.of("list", list, "env_id", env, "item", item)));
    System.out.println();
  }
}
