import java.nio.charset.StandardCharsets;
import java.sql.*;
import java.util.*;

/**
 * Prints tables and views of a SQLite file by JDBC. For each: a line with its name, a line with its columns, and a line
 * for each row. Values are in Base64; `-` stands for NULL.
 */
public class Read {
  public static void main(String[] args) throws Exception {
    StringBuilder text = new StringBuilder();
    try (Connection connection = DriverManager.getConnection("jdbc:sqlite:file:" + args[0] + "?mode=ro")) {
      for (String name : Arrays.asList(args).subList(1, args.length)) {
        text.append("= ").append(name).append('\n');
        try (ResultSet rows = connection.createStatement().executeQuery("select * from \"" + name + "\"")) {
          addRows(text, rows);
        } catch (SQLException error) {
          text.append("! ").append(encoded(error.getMessage())).append('\n');
        }
      }
    }
    System.out.print(text);
  }

  static void addRows(StringBuilder text, ResultSet rows) throws SQLException {
    ResultSetMetaData about = rows.getMetaData();
    List<String> values = new ArrayList<>();
    for (int i = 1; i <= about.getColumnCount(); i++) values.add(encoded(about.getColumnName(i)));
    text.append(String.join(" ", values)).append('\n');
    while (rows.next()) {
      values.clear();
      for (int i = 1; i <= about.getColumnCount(); i++) values.add(encoded(rows.getObject(i)));
      text.append(String.join(" ", values)).append('\n');
    }
  }

  static String encoded(Object value) {
    if (value == null) return "-";
    return Base64.getEncoder().encodeToString(value.toString().getBytes(StandardCharsets.UTF_8));
  }
}
